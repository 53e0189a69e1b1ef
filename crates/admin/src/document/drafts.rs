//! What the types of drafts cannot say: which fields go with which transport, and which texts the registry takes.

use crate::query::any_case;
use crate::skills::drafts::{LONGEST_PHRASE, MOST_PHRASES};
use std::collections::BTreeMap;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, SchemaType};
use utoipa::openapi::{Object, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, SchemaFormat, Type};

type Schemas = BTreeMap<String, RefOr<Schema>>;

/// A text that can be handed to a program: it holds no NUL.
const PLAIN: &str = r"^[^\x00]*$";
/// The same, and it is not blank.
const PROGRAM: &str = r"^[^\x00]*[^\x00\s][^\x00]*$";
/// A text that says something.
const SAID: &str = r"\S";
/// The name of a variable of the environment.
const VARIABLE: &str = r"^[^=\x00]+$";
/// The name of a header, and what it may hold.
const HEADER_NAME: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const HEADER_VALUE: &str = r"^[^\x00-\x08\x0a-\x1f\x7f-\x9f]*$";
/// A call that may take longer than a day is a mistake.
const SHORTEST_TIMEOUT: f64 = 0.001;
const LONGEST_TIMEOUT: u32 = 86_400;

/// How a server is reached, as the description tells it.
struct Shape {
    /// What the schemas of this shape are called: `StdioDraft`, `StdioConfig`.
    name: &'static str,
    transport_type: &'static str,
    /// The one field that has to be there.
    required: &'static str,
    optional: &'static [&'static str],
}

const SHAPES: [Shape; 4] = [
    Shape { name: "Stdio", transport_type: "STDIO", required: "command", optional: &["args", "env", "cwd"] },
    Shape { name: "Sse", transport_type: "SSE", required: "url", optional: &["headers"] },
    Shape { name: "Http", transport_type: "HTTP", required: "base_url", optional: &["headers"] },
    Shape { name: "HttpByUrl", transport_type: "HTTP", required: "url", optional: &["headers"] },
];

/// Makes the description of drafts as narrow as what is taken.
pub(super) fn narrow(schemas: &mut Schemas) {
    edit(schemas, "ConnectionConfig", narrow_config);
    for name in ["Draft", "Patch"] {
        edit(schemas, name, narrow_fields);
    }
    for name in ["SkillBody", "SkillChange"] {
        edit(schemas, name, narrow_skill);
    }
    edit(schemas, "SkillsOfTool", |wish| {
        if let Some(RefOr::T(Schema::Array(skills))) = wish.properties.get_mut("skill_ids") {
            skills.unique_items = true;
        }
    });
    edit(schemas, "SecretValue", |secret| {
        constrain(secret, "value", |text| text.pattern = Some(PLAIN.into()));
    });
    let (Some(draft), Some(config)) = (object(schemas, "Draft"), object(schemas, "ConnectionConfig")) else {
        return;
    };
    let mut shapes = OneOfBuilder::new().description(draft.description.clone());
    for shape in &SHAPES {
        let (draft_name, config_name) = (format!("{}Draft", shape.name), format!("{}Config", shape.name));
        schemas.insert(config_name.clone(), shape.config(config.clone()).into());
        schemas.insert(draft_name.clone(), shape.draft(draft.clone(), &config_name).into());
        shapes = shapes.item(Ref::from_schema_name(draft_name));
    }
    schemas.insert("Draft".to_owned(), shapes.into());
}

impl Shape {
    fn config(&self, mut config: Object) -> Object {
        config.description = Some(format!("How a server of the type {} is reached.", self.transport_type));
        config.properties.retain(|name, _| name == self.required || self.optional.contains(&name.as_str()));
        config.required = vec![self.required.to_owned()];
        constrain(&mut config, self.required, |field| field.schema_type = SchemaType::Type(Type::String));
        config
    }

    fn draft(&self, mut draft: Object, config: &str) -> Object {
        draft.description = Some(format!("A server of the type {} to register.", self.transport_type));
        constrain(&mut draft, "transport_type", |field| {
            field.pattern = Some(any_case([self.transport_type]));
            field.example = Some(self.transport_type.into());
        });
        draft.properties.insert("connection_config".to_owned(), Ref::from_schema_name(config).into());
        draft
    }
}

fn narrow_config(config: &mut Object) {
    constrain(config, "command", |text| text.pattern = Some(PROGRAM.into()));
    constrain(config, "cwd", |text| text.pattern = Some(PLAIN.into()));
    for url in ["url", "base_url"] {
        constrain(config, url, as_address);
    }
    if let Some(RefOr::T(Schema::Array(args))) = config.properties.get_mut("args") {
        args.items = ArrayItems::RefOrSchema(Box::new(text(PLAIN).into()));
    }
    constrain(config, "env", |env| as_map(env, VARIABLE, PLAIN));
    constrain(config, "headers", |headers| as_map(headers, HEADER_NAME, HEADER_VALUE));
}

fn narrow_fields(draft: &mut Object) {
    constrain(draft, "transport_type", |field| field.pattern = Some(any_case(["STDIO", "SSE", "HTTP"])));
    constrain(draft, "description", |field| field.pattern = Some(PLAIN.into()));
    constrain(draft, "health_check_url", as_address);
    constrain(draft, "timeout", |timeout| {
        timeout.minimum = Some(SHORTEST_TIMEOUT.into());
        timeout.maximum = Some(LONGEST_TIMEOUT.into());
    });
}

fn narrow_skill(skill: &mut Object) {
    for list in ["keywords", "examples"] {
        if let Some(RefOr::T(Schema::Array(phrases))) = skill.properties.get_mut(list) {
            let phrase = ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(LONGEST_PHRASE))
                .pattern(Some(SAID));
            phrases.max_items = Some(MOST_PHRASES);
            phrases.items = ArrayItems::RefOrSchema(Box::new(phrase.into()));
        }
    }
}

fn as_address(field: &mut Object) {
    field.format = Some(SchemaFormat::Custom("uri".to_owned()));
}

fn as_map(field: &mut Object, names: &str, values: &str) {
    field.property_names = Some(Box::new(text(names)));
    field.additional_properties = Some(Box::new(AdditionalProperties::RefOr(text(values).into())));
}

fn text(pattern: &str) -> Schema {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

fn object(schemas: &Schemas, name: &str) -> Option<Object> {
    match schemas.get(name) {
        Some(RefOr::T(Schema::Object(object))) => Some(object.clone()),
        _ => None,
    }
}

fn edit(schemas: &mut Schemas, name: &str, change: impl FnOnce(&mut Object)) {
    if let Some(RefOr::T(Schema::Object(object))) = schemas.get_mut(name) {
        change(object);
    }
}

fn constrain(owner: &mut Object, field: &str, change: impl FnOnce(&mut Object)) {
    if let Some(RefOr::T(Schema::Object(field))) = owner.properties.get_mut(field) {
        change(field);
    }
}
