//! Shared by the benchmarks: a table a person can read.

/// Columns, right-aligned but for the first.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heads: &[&str]) -> Table {
        Table {
            rows: vec![heads.iter().map(|h| (*h).to_owned()).collect()],
        }
    }

    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }

    pub fn print(&self, title: &str) {
        println!("\n{title}");
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| {
                let cells = self.rows.iter().filter_map(|row| row.get(c));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                line += &match c {
                    0 => format!("{cell}{pad}"),
                    _ => format!("  {pad}{cell}"),
                };
            }
            println!("{}", line.trim_end());
        }
    }
}

/// A small reproducible source of choices: the same programs on every machine.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % n
    }
}

pub fn seconds(time: std::time::Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Processor time of this process and of its children that have ended, in seconds: on a busy machine it says more than the
/// clock on the wall.
pub fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may hold anything, even a parenthesis: fields count from the last one.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}
