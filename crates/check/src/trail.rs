//! Values that a path changes on its way down and that must be as before when it turns back.

/// A table by execution and thread; what is not set is the default.
#[derive(Clone, Debug)]
pub(crate) struct Trail<T> {
    now: Vec<Vec<T>>,
    undo: Vec<TrailChange<T>>,
}

#[derive(Clone, Debug)]
struct TrailChange<T> {
    step: usize,
    execution: usize,
    thread: usize,
    was: T,
}

impl<T> Default for Trail<T> {
    fn default() -> Self {
        Trail {
            now: Vec::new(),
            undo: Vec::new(),
        }
    }
}

impl<T: Clone + Default> Trail<T> {
    pub(crate) fn get(&self, execution: usize, thread: u16) -> Option<&T> {
        self.now.get(execution)?.get(usize::from(thread))
    }

    /// As part of the given step of the path.
    pub(crate) fn set(&mut self, step: usize, execution: usize, thread: u16, value: T) {
        let thread = usize::from(thread);
        if self.now.len() <= execution {
            self.now.resize(execution + 1, Vec::new());
        }
        let threads = &mut self.now[execution];
        if threads.len() <= thread {
            threads.resize(thread + 1, T::default());
        }
        let was = std::mem::replace(&mut threads[thread], value);
        self.undo.push(TrailChange {
            step,
            execution,
            thread,
            was,
        });
    }

    /// Undoes the steps from this one on.
    pub(crate) fn back(&mut self, to: usize) {
        while let Some(change) = self.undo.pop_if(|change| change.step >= to) {
            self.now[change.execution][change.thread] = change.was;
        }
    }
}
