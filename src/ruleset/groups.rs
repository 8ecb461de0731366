//! Lists of lists in two allocations, so that asking for one touches little memory.

/// Groups of values by a number from zero.
#[derive(Debug)]
pub(super) struct Groups<T> {
    /// Where each group ends.
    ends: Vec<u32>,
    values: Vec<T>,
}

impl<T> Groups<T> {
    pub(super) fn get(&self, group: usize) -> &[T] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start as usize..self.ends[group] as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

impl<T> FromIterator<Vec<T>> for Groups<T> {
    fn from_iter<I: IntoIterator<Item = Vec<T>>>(groups: I) -> Self {
        let mut values = Vec::new();
        let ends = groups.into_iter().map(|group| {
            values.extend(group);
            values.len() as u32
        });
        Self { ends: ends.collect(), values }
    }
}
