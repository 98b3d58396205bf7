//! Which fields of which variables an expression can read: what lets the caller leave the rest unparsed.

/// All reads of one expression.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    reads: Vec<Read>,
}

/// One read: everything below `path` of the variable may be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub slot: u32,
    /// Field names and constant string indexes from the variable on; empty: the whole variable.
    pub path: Vec<Box<str>>,
}

impl Reads {
    pub(super) fn record(&mut self, slot: u32, path: Vec<Box<str>>) {
        let read = Read { slot, path };
        if !self.reads.contains(&read) {
            self.reads.push(read);
        }
    }

    /// Whether the variable is read at all.
    pub fn touches(&self, slot: u32) -> bool {
        self.reads.iter().any(|read| read.slot == slot)
    }

    /// Whether the value at `path`, something inside it or something around it is read.
    pub fn reads_path(&self, slot: u32, path: &[&str]) -> bool {
        self.reads.iter().any(|read| {
            read.slot == slot && read.path.iter().zip(path).all(|(read, wanted)| **read == **wanted)
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Read> {
        self.reads.iter()
    }
}
