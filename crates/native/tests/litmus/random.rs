//! Random litmus tests with a power failure, as text: the same ones every time.

use std::fmt::Write;

const VARIABLES: [&str; 3] = ["x", "y", "z"];

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn variable(&mut self) -> &'static str {
        VARIABLES[self.below(3) as usize]
    }
}

/// One thread's code; values are different everywhere, so that outcomes tell where they come from.
fn thread(numbers: &mut Numbers, value: &mut u64) -> String {
    let mut body = String::new();
    let mut loads = 0;
    for _ in 0..2 + numbers.below(3) {
        let variable = numbers.variable();
        *value += 1;
        if !body.is_empty() {
            body += "; ";
        }
        let _ = match numbers.below(20) {
            17.. => write!(body, "{variable} = nt {value}"),
            0..=4 => write!(body, "{variable} = {value}"),
            5 if loads > 0 => write!(body, "{variable} = r{loads}"),
            5 | 6 => {
                loads += 1;
                write!(body, "r{loads} = {variable}")
            }
            7 | 8 => write!(body, "clflush {variable}"),
            9 | 10 => write!(body, "clwb {variable}"),
            11 => write!(body, "sfence"),
            12 => write!(body, "mfence"),
            13 if loads > 0 => write!(body, "if r{loads} == {}", numbers.below(*value)),
            13 | 14 => {
                loads += 1;
                write!(body, "r{loads} = xchg {variable} {value}")
            }
            15 => {
                loads += 1;
                write!(
                    body,
                    "r{loads} = cas {variable} {} {value}",
                    numbers.below(3)
                )
            }
            _ => {
                loads += 1;
                write!(body, "r{loads} = faa {variable} 16")
            }
        };
    }
    body
}

/// A test by its number.
pub(crate) fn test(number: u64) -> String {
    let mut numbers =
        Numbers(0x9e37_79b9_7f4a_7c15 ^ (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
    for _ in 0..8 {
        numbers.below(2);
    }
    let lines = ["x | y | z", "x y | z", "x y z"][numbers.below(3) as usize];
    let mut value = 0;
    let mut text = format!("name: random-{number}\nlines: {lines}\n");
    for at in 0..2 + numbers.below(2) {
        let body = thread(&mut numbers, &mut value);
        let _ = writeln!(text, "T{at}: {body}");
    }
    text + "recover: x y z\n"
}
