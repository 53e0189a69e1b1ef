//! `cargo xtask quality`: what search finds on public sets, by words, by meaning and by both.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to people")]

mod figures;
mod sets;
mod vectors;

use anyhow::{Result, bail};
use figures::Figures;
use portolan_search::{DocKey, Index, Query, QueryVectors, Vectors as ShardVectors, clauses};
use rustix::time::{ClockId, clock_gettime};
use sets::{HAYSTACK, Question, SETS, Server, Set};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::Instant;
use vectors::Vectors;

const USAGE: &str = "\
portolan-quality [--data FOLDER] [--vectors FILE]

  --data FOLDER    the sets (../shared/data)
  --vectors FILE   where vectors are kept, so that texts are embedded once (target/quality.vectors)
";

/// As many as `POST /search` tells unless it is asked for another number.
const LIMIT: usize = 10;
/// Numbers of the haystack's tools begin here, beyond those of any set.
const FIRST_OF_HAYSTACK: u64 = 1 << 32;

/// What a search may go by.
#[derive(Clone, Copy)]
enum By {
    Words,
    Meaning,
    Both,
}

impl By {
    const ALL: [Self; 3] = [Self::Words, Self::Meaning, Self::Both];

    fn name(self) -> &'static str {
        match self {
            Self::Words => "lexical",
            Self::Meaning => "embedding",
            Self::Both => "hybrid",
        }
    }
}

/// A query taken apart, and what is embedded of it.
struct Prepared<'s> {
    question: &'s Question,
    clauses: Vec<String>,
    whole: Vec<f32>,
    of_clauses: Vec<Vec<f32>>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match options(&args).and_then(|(data, vectors)| measure(&data, &vectors)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quality: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(args: &[&str]) -> Result<(PathBuf, PathBuf)> {
    let mut data = PathBuf::from("../shared/data");
    let mut vectors = PathBuf::from("target/quality.vectors");
    let mut rest = args;
    while let [first, after @ ..] = rest {
        rest = match (*first, after) {
            ("--data", [folder, after @ ..]) => {
                data = PathBuf::from(folder);
                after
            }
            ("--vectors", [file, after @ ..]) => {
                vectors = PathBuf::from(file);
                after
            }
            _ => bail!("{first:?} is not understood\n{USAGE}"),
        };
    }
    Ok((data, vectors))
}

fn measure(data: &std::path::Path, vectors: &std::path::Path) -> Result<()> {
    let haystack = sets::read(&data.join(HAYSTACK), FIRST_OF_HAYSTACK)?;
    let sets: Vec<(&str, Set)> =
        SETS.iter().map(|name| Ok((*name, sets::read(&data.join(name), 0)?))).collect::<Result<_>>()?;
    let mut vectors = Vectors::open(vectors)?;
    learn(&mut vectors, &haystack, &sets)?;

    let headings = Figures::HEADINGS.map(|heading| format!("{heading:>7}")).join(" ");
    println!("{:<16} {:>6} {:<9} {headings}  CPU time of a query", "set", "tools", "by");
    for (name, set) in &sets {
        let alone: Vec<&Server> = set.servers.iter().collect();
        let hidden: Vec<&Server> = set.servers.iter().chain(&haystack.servers).collect();
        let prepared = prepare(set, &vectors)?;
        for servers in [alone, hidden] {
            run(name, &build(&servers, &vectors)?, &prepared);
        }
    }
    costs(&haystack, &vectors)
}

fn learn(vectors: &mut Vectors, haystack: &Set, sets: &[(&str, Set)]) -> Result<()> {
    let mut texts = Vec::new();
    for set in sets.iter().map(|(_, set)| set).chain([haystack]) {
        for server in &set.servers {
            texts.push(server.passage());
            texts.extend(server.passages());
        }
        for question in &set.questions {
            texts.push(question.text.clone());
            texts.extend(clauses(&question.text));
        }
    }
    let start = Instant::now();
    let learnt = vectors.learn(&texts)?;
    if learnt > 0 {
        println!("{learnt} texts embedded in {:.0?}", start.elapsed());
    }
    Ok(())
}

fn prepare<'s>(set: &'s Set, vectors: &Vectors) -> Result<Vec<Prepared<'s>>> {
    let prepared = |question: &'s Question| {
        let clauses = clauses(&question.text);
        let of_clauses =
            clauses.iter().map(|clause| Ok(vectors.of(clause)?.to_vec())).collect::<Result<_>>()?;
        Ok(Prepared { question, clauses, whole: vectors.of(&question.text)?.to_vec(), of_clauses })
    };
    set.questions.iter().map(prepared).collect()
}

fn build(servers: &[&Server], vectors: &Vectors) -> Result<Index> {
    let mut shards = Vec::with_capacity(servers.len());
    for server in servers {
        let passages = server.passages();
        let tools = passages.iter().map(|passage| Ok(Some(vectors.of(passage)?))).collect::<Result<_>>()?;
        let about = server.passage();
        shards.push(server.shard().with_vectors(&ShardVectors { tools, server: Some(vectors.of(&about)?) }));
    }
    Ok(Index::build(shards))
}

fn run(name: &str, index: &Index, prepared: &[Prepared<'_>]) {
    for by in By::ALL {
        let mut figures = Figures::default();
        let mut times = Vec::with_capacity(prepared.len());
        for query in prepared {
            let (found, time) = search(index, query, by);
            times.push(time);
            figures.add(query.question, &found);
        }
        let shown = figures.shown().map(|figure| format!("{figure:>7.3}")).join(" ");
        println!("{name:<16} {:>6} {:<9} {shown}  {}", index.len(), by.name(), spread(times));
    }
}

fn search(index: &Index, prepared: &Prepared<'_>, by: By) -> (Vec<DocKey>, Duration) {
    let silent = vec![String::new(); prepared.clauses.len()];
    let vectors = QueryVectors { whole: &prepared.whole, clauses: &prepared.of_clauses };
    let (text, clauses, vectors) = match by {
        By::Words => (prepared.question.text.as_str(), &prepared.clauses, None),
        By::Meaning => ("", &silent, Some(vectors)),
        By::Both => (prepared.question.text.as_str(), &prepared.clauses, Some(vectors)),
    };
    let query = Query { text, clauses, vectors, limit: LIMIT, only: None };
    let start = spent();
    let hits = index.search(&query);
    (hits.iter().map(|hit| hit.key).collect(), since(start))
}

/// The CPU time of this thread: others on the machine do not count.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn since(start: Duration) -> Duration {
    spent().saturating_sub(start)
}

fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    format!("{:.2?} median, {:.2?} p95", at(50), at(95))
}

/// What the index of the haystack costs to make, to change and to keep.
fn costs(haystack: &Set, vectors: &Vectors) -> Result<()> {
    let start = spent();
    let shards: Vec<_> = haystack.servers.iter().map(Server::shard).collect();
    let index = Index::build(shards);
    println!("words of {} tools indexed in {:.2?}", index.len(), since(start));
    let servers: Vec<&Server> = haystack.servers.iter().collect();
    let start = spent();
    let index = build(&servers, vectors)?;
    println!("with their vectors in {:.2?}, {:.1} MiB", since(start), mebibytes(index.bytes()));
    if let Some(largest) = haystack.servers.iter().max_by_key(|server| server.docs.len()) {
        let start = spent();
        let next = index.clone().with_server(largest.shard());
        let time = since(start);
        println!("one server of {} tools replaced among {} in {time:.2?}", largest.docs.len(), next.len());
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
