//! Sets of processes. Up to 64 of them are bits of one word; where there are more, further words follow it.

use super::step::Process;

const WORD: usize = u64::BITS as usize;

#[derive(Clone, Debug, Default)]
pub struct Processes {
    first: u64,
    /// Those from 64 on, as far as there were any.
    more: Vec<u64>,
}

impl From<u64> for Processes {
    fn from(first: u64) -> Processes {
        let more = Vec::new();
        Processes { first, more }
    }
}

impl FromIterator<Process> for Processes {
    fn from_iter<I: IntoIterator<Item = Process>>(processes: I) -> Processes {
        let mut set = Processes::default();
        processes
            .into_iter()
            .for_each(|process| set.insert(process));
        set
    }
}

impl PartialEq for Processes {
    fn eq(&self, other: &Processes) -> bool {
        self.without(other).is_empty() && other.without(self).is_empty()
    }
}

impl Eq for Processes {}

impl Processes {
    fn word(&self, number: usize) -> u64 {
        match number.checked_sub(1) {
            None => self.first,
            Some(further) => self.more.get(further).copied().unwrap_or(0),
        }
    }

    fn word_mut(&mut self, number: usize) -> &mut u64 {
        let Some(further) = number.checked_sub(1) else {
            return &mut self.first;
        };
        if self.more.len() <= further {
            self.more.resize(further + 1, 0);
        }
        &mut self.more[further]
    }

    /// Those below 64, a bit each.
    pub fn low(&self) -> u64 {
        self.first
    }

    pub fn insert(&mut self, process: Process) {
        let at = usize::from(process);
        *self.word_mut(at / WORD) |= 1 << (at % WORD);
    }

    pub fn remove(&mut self, process: Process) {
        let at = usize::from(process);
        if self.contains(process) {
            *self.word_mut(at / WORD) &= !(1 << (at % WORD));
        }
    }

    #[inline]
    pub fn contains(&self, process: Process) -> bool {
        let at = usize::from(process);
        self.word(at / WORD) >> (at % WORD) & 1 != 0
    }

    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.more.iter().all(|word| *word == 0)
    }

    /// The lowest.
    pub fn lowest(&self) -> Option<Process> {
        self.iter().next()
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Process> + '_ {
        (0..=self.more.len()).flat_map(|number| {
            let mut word = self.word(number);
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some((number * WORD + bit) as Process)
            })
        })
    }

    pub fn add(&mut self, others: &Processes) {
        self.first |= others.first;
        for number in 1..=others.more.len() {
            *self.word_mut(number) |= others.word(number);
        }
    }

    #[must_use]
    pub fn without(&self, others: &Processes) -> Processes {
        let more = (1..=self.more.len()).map(|number| self.word(number) & !others.word(number));
        Processes {
            first: self.first & !others.first,
            more: more.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_grow_where_they_must() {
        let few: Processes = [0, 63].into_iter().collect();
        assert!(few.more.is_empty());
        let mut many: Processes = [5, 63, 64, 700].into_iter().collect();
        assert_eq!(many.iter().collect::<Vec<_>>(), [5, 63, 64, 700]);
        assert!(many.contains(700) && !many.contains(699) && !few.contains(700));
        assert_eq!(many.without(&few).iter().collect::<Vec<_>>(), [5, 64, 700]);
        many.add(&few);
        many.remove(700);
        many.remove(1000);
        assert_eq!(many, [0, 5, 63, 64].into_iter().collect());
        assert_eq!(many.without(&many).lowest(), None);
        assert_eq!(Processes::from(6).lowest(), Some(1));
        assert!(!many.is_empty() && Processes::default().is_empty());
    }
}
