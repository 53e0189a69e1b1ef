//! An MCP server that converts between units of measurement: pure computing, no state.
#![expect(clippy::print_stderr, reason = "stdout carries MCP, so what is meant for people goes to stderr")]

use portolan_examples::{Answer, Args, Refusal, Tool, ToolKind, Toolbox, serve};
use serde_json::{Value, json};
use std::io;
use std::process::ExitCode;

/// `base = value × factor + offset`, where the base of a quantity is its SI unit.
struct Unit {
    quantity: &'static str,
    symbol: &'static str,
    name: &'static str,
    factor: f64,
    offset: f64,
}

const fn unit(quantity: &'static str, symbol: &'static str, name: &'static str, factor: f64) -> Unit {
    Unit { quantity, symbol, name, factor, offset: 0.0 }
}

/// Exact by definition, but for the Fahrenheit offset, which has no finite decimal form.
const UNITS: &[Unit] = &[
    unit("length", "mm", "millimetre", 0.001),
    unit("length", "cm", "centimetre", 0.01),
    unit("length", "m", "metre", 1.0),
    unit("length", "km", "kilometre", 1000.0),
    unit("length", "in", "inch", 0.0254),
    unit("length", "ft", "foot", 0.3048),
    unit("length", "yd", "yard", 0.9144),
    unit("length", "mi", "mile", 1609.344),
    unit("length", "nmi", "nautical mile", 1852.0),
    unit("mass", "g", "gram", 0.001),
    unit("mass", "kg", "kilogram", 1.0),
    unit("mass", "t", "tonne", 1000.0),
    unit("mass", "oz", "ounce", 0.028_349_523_125),
    unit("mass", "lb", "pound", 0.453_592_37),
    unit("temperature", "K", "kelvin", 1.0),
    Unit { quantity: "temperature", symbol: "C", name: "degree Celsius", factor: 1.0, offset: 273.15 },
    Unit {
        quantity: "temperature",
        symbol: "F",
        name: "degree Fahrenheit",
        factor: 5.0 / 9.0,
        offset: 459.67 * 5.0 / 9.0,
    },
    unit("time", "ms", "millisecond", 0.001),
    unit("time", "s", "second", 1.0),
    unit("time", "min", "minute", 60.0),
    unit("time", "h", "hour", 3600.0),
    unit("time", "d", "day", 86_400.0),
    unit("time", "wk", "week", 604_800.0),
    unit("speed", "m/s", "metre per second", 1.0),
    unit("speed", "km/h", "kilometre per hour", 1.0 / 3.6),
    unit("speed", "mph", "mile per hour", 0.447_04),
    unit("speed", "kn", "knot", 1852.0 / 3600.0),
    unit("area", "m2", "square metre", 1.0),
    unit("area", "ha", "hectare", 10_000.0),
    unit("area", "km2", "square kilometre", 1_000_000.0),
    unit("area", "ac", "acre", 4_046.856_422_4),
    unit("volume", "ml", "millilitre", 0.000_001),
    unit("volume", "l", "litre", 0.001),
    unit("volume", "m3", "cubic metre", 1.0),
    unit("volume", "gal", "US gallon", 0.003_785_411_784),
    unit("data", "B", "byte", 1.0),
    unit("data", "kB", "kilobyte", 1e3),
    unit("data", "MB", "megabyte", 1e6),
    unit("data", "GB", "gigabyte", 1e9),
    unit("data", "KiB", "kibibyte", 1024.0),
    unit("data", "MiB", "mebibyte", 1_048_576.0),
    unit("data", "GiB", "gibibyte", 1_073_741_824.0),
];

impl Unit {
    /// By symbol, or by name in any case and in the plural. Symbols keep their case: `K` is no `k`.
    fn find(text: &str) -> Result<&'static Self, Refusal> {
        let name = text.to_lowercase();
        let singular = name.strip_suffix('s').unwrap_or(&name);
        let fits = |unit: &&Self| {
            let own = unit.name.to_lowercase();
            unit.symbol == text || own == name || own == singular
        };
        UNITS.iter().find(fits).ok_or_else(|| {
            Refusal(format!(
                "there is no unit {text:?}; list_units shows every symbol, such as km, lb, C or GiB"
            ))
        })
    }

    fn to_json(&self) -> Value {
        json!({ "symbol": self.symbol, "name": self.name, "quantity": self.quantity })
    }
}

/// In the order of the table.
fn quantities() -> Vec<&'static str> {
    let mut names: Vec<&str> = UNITS.iter().map(|unit| unit.quantity).collect();
    names.dedup();
    names
}

/// Twelve digits, so that what binary fractions add at the sixteenth does not show (0.1 + 0.2).
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fn convert(args: &Args<'_>) -> Result<Answer, Refusal> {
    let value = args.number("value")?;
    let (from, to) = (Unit::find(args.text("from")?)?, Unit::find(args.text("to")?)?);
    if from.quantity != to.quantity {
        let (a, b) = (from.quantity, to.quantity);
        return Err(Refusal(format!(
            "{} measures {a} and {} measures {b}: there is no way across",
            from.name, to.name
        )));
    }
    let result = rounded((value * from.factor + from.offset - to.offset) / to.factor);
    if !result.is_finite() {
        return Err(Refusal(format!("{value} {} is out of range", from.symbol)));
    }
    let text = format!("{value} {} = {result} {}", from.symbol, to.symbol);
    Ok(Answer {
        text,
        data: json!({ "result": result, "from": from.symbol, "to": to.symbol, "quantity": to.quantity }),
    })
}

fn list_units(args: &Args<'_>) -> Result<Answer, Refusal> {
    let wanted = args.optional_text("quantity")?;
    if let Some(quantity) = wanted.filter(|quantity| !quantities().contains(quantity)) {
        return Err(Refusal(format!(
            "there is no quantity {quantity:?}; there are {}",
            quantities().join(", ")
        )));
    }
    let listed: Vec<&Unit> =
        UNITS.iter().filter(|unit| wanted.is_none_or(|wanted| unit.quantity == wanted)).collect();
    let lines: Vec<String> =
        listed.iter().map(|unit| format!("{} ({}, {})", unit.symbol, unit.name, unit.quantity)).collect();
    let units: Vec<Value> = listed.iter().map(|unit| unit.to_json()).collect();
    Ok(Answer { text: lines.join("\n"), data: json!({ "units": units }) })
}

struct Units;

impl Toolbox for Units {
    const NAME: &'static str = "portolan-example-units";
    const TITLE: &'static str = "Units";
    const INSTRUCTIONS: &'static str = "Converts between units of measurement exactly. Use it rather than computing in \
        your head.";

    fn tools() -> Vec<Tool> {
        let symbol = |what: &str| json!({ "type": "string", "minLength": 1, "description": what });
        vec![
            Tool {
                name: "convert",
                title: "Convert a value",
                description: "Convert a value from one unit to another. Both must measure the same: length, mass, \
                    temperature, time, speed, area, volume or data. Units are given by symbol (`km`) or name \
                    (`kilometres`).",
                kind: ToolKind::Reads,
                properties: json!({
                    "value": { "type": "number", "description": "How much, in the unit of `from`" },
                    "from": symbol("The unit of the value, such as `mi`"),
                    "to": symbol("The unit wanted, such as `km`"),
                }),
                required: &["value", "from", "to"],
                output_schema: json!({
                    "type": "object",
                    "properties": {
                        "result": { "type": "number", "description": "The value in the unit of `to`" },
                        "from": { "type": "string" },
                        "to": { "type": "string" },
                        "quantity": { "type": "string" },
                    },
                    "required": ["result", "from", "to", "quantity"],
                }),
            },
            Tool {
                name: "list_units",
                title: "List units",
                description: "Show every unit that can be converted, or those of one quantity, with symbol and name.",
                kind: ToolKind::Reads,
                properties: json!({
                    "quantity": {
                        "type": "string",
                        "enum": quantities(),
                        "description": "Show only the units of this quantity",
                    },
                }),
                required: &[],
                output_schema: json!({
                    "type": "object",
                    "properties": {
                        "units": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "symbol": { "type": "string" },
                                    "name": { "type": "string" },
                                    "quantity": { "type": "string" },
                                },
                                "required": ["symbol", "name", "quantity"],
                            },
                        },
                    },
                    "required": ["units"],
                }),
            },
        ]
    }

    fn call(&mut self, tool: &str, args: &Args<'_>) -> Result<Answer, Refusal> {
        match tool {
            "convert" => convert(args),
            "list_units" => list_units(args),
            other => Err(Refusal(format!("{other} is listed but not built"))),
        }
    }
}

fn main() -> ExitCode {
    match serve(Units, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("portolan-example-units: {why}");
            ExitCode::FAILURE
        }
    }
}
