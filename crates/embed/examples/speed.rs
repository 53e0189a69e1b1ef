//! How fast texts become vectors on this machine: `cargo run --release -p portolan-embed --example speed -- tools.jsonl`.
//!
//! The file has one JSON object a line with `name` and `description`. With a second path, the vectors of the first 500
//! are written there, one JSON array a line, to be compared with those of another implementation.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark measures time and tells of it, to three digits"
)]

use portolan_embed::Model;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

/// Some seconds' worth, from all over a file of 17,000.
const TEXTS: usize = 2000;
const STEP: usize = 8;
const QUERIES: usize = 50;
const COMPARED: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let path = paths.next().ok_or("give the path of a tools.jsonl")?;
    let texts = texts(&path)?;
    let start = Instant::now();
    let model = Model::built_in()?;
    println!("loaded in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    if let Some(path) = paths.next() {
        return write_vectors(&model, &texts, &path);
    }

    let tokens: usize = texts.iter().map(|text| model.tokens(text).len()).sum();
    println!("{} texts of {:.1} tokens", texts.len(), tokens as f64 / texts.len() as f64);
    for threads in [1, 2] {
        let start = Instant::now();
        let busy: f64 = std::thread::scope(|scope| {
            let shares = texts.chunks(texts.len().div_ceil(threads));
            let started: Vec<_> = shares.map(|share| scope.spawn(|| timed(&model, share))).collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).sum()
        });
        let count = texts.len() as f64;
        let rate = count / start.elapsed().as_secs_f64();
        println!("{threads} thread(s): {rate:.0} texts a second, {:.0} a second of CPU time", count / busy);
    }

    let query = ["find the repo, then open an issue and tell the team".to_owned()];
    let mut times: Vec<f64> = (0..QUERIES).map(|_| timed(&model, &query) * 1e3).collect();
    times.sort_by(f64::total_cmp);
    println!(
        "a query: {:.2} ms of CPU time at the median, {:.2} at most",
        times[QUERIES / 2],
        times[QUERIES - 1]
    );
    println!("memory at most: {}", peak_memory().unwrap_or_else(|| "unknown here".to_owned()));
    Ok(())
}

/// Seconds of this thread's CPU time that the texts take; of the clock's, where the system does not tell.
fn timed(model: &Model, texts: &[String]) -> f64 {
    let (start, busy) = (Instant::now(), cpu_seconds());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    std::hint::black_box(model.embed(&texts));
    let busy = cpu_seconds().zip(busy).map(|(after, before)| after - before);
    busy.unwrap_or_else(|| start.elapsed().as_secs_f64())
}

fn cpu_seconds() -> Option<f64> {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(spent.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

/// Tools as search embeds them, taken from all over the file.
fn texts(path: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let lines = BufReader::new(File::open(path)?).lines();
    let mut texts = Vec::new();
    for line in lines.step_by(STEP).take(TEXTS) {
        let tool: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        texts.push(format!("{}: {}", text("name").replace('_', " "), text("description")));
    }
    Ok(texts)
}

fn write_vectors(model: &Model, texts: &[String], path: &str) -> Result<(), Box<dyn Error>> {
    let mut lines = String::new();
    for text in texts.iter().take(COMPARED) {
        let vector = model.embed(&[text]);
        writeln!(lines, "{}", serde_json::json!({ "text": text, "vector": vector[0] }))?;
    }
    std::fs::write(path, lines)?;
    Ok(())
}

/// As the system tells it, where it does.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
