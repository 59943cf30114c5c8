//! Counts that do not fit a machine word: how many images a crash may leave.

use std::fmt;

/// A natural number; 32 bits a digit, the least first, no zero last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Count {
    digits: Vec<u32>,
}

impl From<u32> for Count {
    fn from(number: u32) -> Count {
        let mut count = Count {
            digits: vec![number],
        };
        count.trim();
        count
    }
}

impl Count {
    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    pub fn add(&mut self, other: &Count) {
        let mut carry = 0u64;
        for i in 0..self.digits.len().max(other.digits.len()) {
            if i == self.digits.len() {
                self.digits.push(0);
            }
            let sum = u64::from(self.digits[i])
                + other.digits.get(i).copied().map_or(0, u64::from)
                + carry;
            self.digits[i] = sum as u32;
            carry = sum >> 32;
        }
        if carry != 0 {
            self.digits.push(carry as u32);
        }
    }

    pub fn multiply(&mut self, by: u32) {
        let mut carry = 0u64;
        for digit in &mut self.digits {
            let product = u64::from(*digit) * u64::from(by) + carry;
            *digit = product as u32;
            carry = product >> 32;
        }
        if carry != 0 {
            self.digits.push(carry as u32);
        }
        self.trim();
    }

    /// Divides by a number that is not zero; returns the remainder.
    pub fn divide(&mut self, by: u32) -> u32 {
        let mut rest = 0u64;
        for digit in self.digits.iter_mut().rev() {
            let value = (rest << 32) | u64::from(*digit);
            *digit = (value / u64::from(by.max(1))) as u32;
            rest = value % u64::from(by.max(1));
        }
        self.trim();
        rest as u32
    }

    /// All decimal digits.
    pub fn decimal(&self) -> String {
        let mut rest = self.clone();
        let mut groups = Vec::new();
        while !rest.digits.is_empty() {
            groups.push(rest.divide(1_000_000_000));
        }
        let Some(first) = groups.pop() else {
            return "0".to_owned();
        };
        let others = groups.iter().rev().map(|group| format!("{group:09}"));
        std::iter::once(first.to_string()).chain(others).collect()
    }
}

/// As people read it: in full below a million, else like 5.4e15.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = self.decimal();
        if decimal.len() <= 6 {
            return f.write_str(&decimal);
        }
        // Three digits, rounded to two; 9.95 becomes 1.0 of the next power.
        let lead: u32 = decimal[..3].parse().unwrap_or(0);
        let (lead, power) = match (lead + 5) / 10 {
            100 => (10, decimal.len()),
            lead => (lead, decimal.len() - 1),
        };
        write!(f, "{}.{}e{power}", lead / 10, lead % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn large_counts_are_exact_and_shown_short() {
        let mut factorial = Count::from(1);
        (1..=30).for_each(|n| factorial.multiply(n));
        assert_eq!(factorial.decimal(), "265252859812191058636308480000000");
        assert_eq!(factorial.to_string(), "2.7e32");
        assert_eq!(Count::from(999_999).to_string(), "999999");
        assert_eq!(Count::from(9_960_000).to_string(), "1.0e7");
        assert_eq!(Count::from(0).to_string(), "0");
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_machine_integers(a in any::<u32>(), b in any::<u32>(), c in any::<u32>(), d in 1u32..) {
            let mut count = Count::from(a);
            count.multiply(b);
            count.add(&Count::from(c));
            let number = u128::from(a) * u128::from(b) + u128::from(c);
            prop_assert_eq!(count.decimal(), number.to_string());
            prop_assert_eq!(u128::from(count.divide(d)), number % u128::from(d));
            prop_assert_eq!(count.decimal(), (number / u128::from(d)).to_string());
        }
    }
}
