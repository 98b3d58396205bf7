//! Memory of one evaluation: everything that values point to, freed at once, never more than a limit.

use bumpalo::Bump;

use super::error::{ErrorKind, EvalError};

/// A bump allocator with a limit. Values of an evaluation are `Copy` and borrow from it, so the common path allocates
/// nothing, and a document of any depth is freed without walking it.
///
/// Destructors are not run: only `Copy` data goes in, which the signatures enforce.
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
    limit: Option<usize>,
}

type Result<T> = std::result::Result<T, Box<EvalError>>;

impl Arena {
    /// An arena that refuses to hold more than about `bytes` (counted in whole chunks).
    pub fn with_limit(bytes: usize) -> Self {
        let bump = Bump::new();
        bump.set_allocation_limit(Some(bytes));
        Self { bump, limit: Some(bytes) }
    }

    /// Counts `bytes` that are held beside the arena, until they are moved into it, as its own: what it may hold is lowered by as much. Each call
    /// replaces the one before it.
    pub fn set_aside(&self, bytes: usize) {
        self.bump.set_allocation_limit(self.limit.map(|limit| limit.saturating_sub(bytes)));
    }

    /// Forgets everything and keeps the largest chunk, for the next evaluation.
    pub fn reset(&mut self) {
        self.bump.reset();
    }

    /// Bytes that still fit, at most: what is free in the current chunk and what the limit leaves.
    pub fn room(&self) -> usize {
        match self.bump.allocation_limit() {
            Some(limit) => {
                limit.saturating_sub(self.bump.allocated_bytes()).saturating_add(self.bump.chunk_capacity())
            }
            None => usize::MAX,
        }
    }

    /// Bytes held from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }

    pub fn alloc<T: Copy>(&self, value: T) -> Result<&T> {
        self.bump.try_alloc(value).map(|value| &*value).map_err(|_| exhausted())
    }

    pub fn alloc_str(&self, text: &str) -> Result<&str> {
        self.bump.try_alloc_str(text).map(|text| &*text).map_err(|_| exhausted())
    }

    /// The parts, one after the other, as one string.
    pub fn concat<'a>(&'a self, parts: &[&str]) -> Result<&'a str> {
        let mut bytes = self.list::<u8>(parts.iter().map(|part| part.len()).sum())?;
        for part in parts {
            bytes.extend(part.as_bytes())?;
        }
        // Whole strings one after the other are UTF-8; the check costs less than an exception to `forbid(unsafe_code)`.
        Ok(std::str::from_utf8(bytes.finish()).unwrap_or_default())
    }

    pub fn alloc_slice<T: Copy>(&self, items: &[T]) -> Result<&[T]> {
        self.bump.try_alloc_slice_copy(items).map(|items| &*items).map_err(|_| exhausted())
    }

    /// A list that grows inside the arena. `capacity` is what it will hold when it is known, else 0.
    pub fn list<T: Copy>(&self, capacity: usize) -> Result<ListBuilder<'_, T>> {
        let mut items = bumpalo::collections::Vec::new_in(&self.bump);
        items.try_reserve_exact(capacity)?;
        Ok(ListBuilder { items })
    }
}

/// See [`Arena::list`].
#[derive(Debug)]
pub struct ListBuilder<'a, T: Copy> {
    items: bumpalo::collections::Vec<'a, T>,
}

impl<'a, T: Copy> ListBuilder<'a, T> {
    pub fn push(&mut self, item: T) -> Result<()> {
        if self.items.len() == self.items.capacity() {
            self.items.try_reserve(1)?;
        }
        self.items.push(item);
        Ok(())
    }

    pub fn extend(&mut self, items: &[T]) -> Result<()> {
        self.items.try_reserve(items.len())?;
        self.items.extend_from_slice_copy(items);
        Ok(())
    }

    /// Appends `count` copies of `item`.
    pub fn extend_with(&mut self, item: T, count: usize) -> Result<()> {
        self.items.try_reserve(count)?;
        self.items.extend(std::iter::repeat_n(item, count));
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    pub fn finish(self) -> &'a [T] {
        self.items.into_bump_slice()
    }
}

impl From<bumpalo::collections::CollectionAllocErr> for Box<EvalError> {
    fn from(_: bumpalo::collections::CollectionAllocErr) -> Self {
        exhausted()
    }
}

fn exhausted() -> Box<EvalError> {
    EvalError::new(ErrorKind::Memory, "memory limit of the evaluation exceeded")
}
