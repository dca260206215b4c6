//! sum NUMBERS RESULT: adds the numbers of one file, one a line, into another.
//! What a tool in this language does without thinking: a randomly seeded map, a sleep,
//! the environment, files by absolute path, a panic on bad input.

use std::collections::HashMap;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

fn main() {
    println!("hello from rust, {}", env::var("WHO").unwrap_or_default());
    let args: Vec<String> = env::args().collect();
    let text = fs::read_to_string(&args[1]).unwrap_or_else(|err| {
        eprintln!("{}: {}", args[1], err);
        process::exit(3);
    });

    let numbers: HashMap<usize, i64> = text
        .lines()
        .map(|line| line.parse().expect("a number on each line"))
        .enumerate()
        .collect();
    let sum: i64 = numbers.values().sum();

    let before = Instant::now();
    thread::sleep(Duration::from_millis(20));
    assert!(before.elapsed() >= Duration::from_millis(20));
    if let Err(err) = fs::write(&args[2], format!("{}\n", sum)) {
        eprintln!("{}: {}", args[2], err);
        process::exit(4);
    }
    println!("sum {}", sum);
}
