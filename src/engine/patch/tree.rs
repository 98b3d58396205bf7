//! A document under change.
//!
//! Values are immutable and shared. Containers are opened on the way to a change, at most once each, and closed into values at the
//! end: a patch costs what it touches, not what the document holds. Nothing here recurses.

use std::collections::BTreeMap;
use std::mem;

use usher_cel::eval::{Entry, Map};
use usher_cel::{Arena, Value};

use super::MAX_MOVES;
use super::error::Cause;
use super::pointer;

/// A document, some of whose containers are open.
pub(super) struct Tree<'a> {
    arena: &'a Arena,
    root: Child<'a>,
    nodes: Vec<Node<'a>>,
    /// Items of lists that were moved to make or fill a gap.
    moves: usize,
}

/// A value in a container. Each open container has one parent.
#[derive(Clone, Copy)]
pub(super) enum Child<'a> {
    Whole(Value<'a>),
    /// An index into the nodes.
    Open(usize),
}

enum Node<'a> {
    List(Vec<Child<'a>>),
    Object(Changes<'a>),
    /// Was open, and can be again.
    Closed(Value<'a>),
}

struct Changes<'a> {
    base: Map<'a>,
    changed: BTreeMap<&'a str, Change<'a>>,
}

struct Change<'a> {
    /// The position among the changes, so that new members keep the order in which they were added.
    order: usize,
    /// None: removed.
    child: Option<Child<'a>>,
}

/// Where a path leads: the parent, open, and the key in it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    parent: usize,
    key: &'a str,
}

impl<'a> Tree<'a> {
    pub(super) fn new(document: Value<'a>, arena: &'a Arena) -> Self {
        Self { arena, root: Child::Whole(document), nodes: Vec::new(), moves: 0 }
    }

    pub(super) fn root(&self) -> Child<'a> {
        self.root
    }

    pub(super) fn replace_root(&mut self, document: Value<'a>) {
        self.root = Child::Whole(document);
    }

    /// The value at a path; `None` when the object there has no such member.
    pub(super) fn get(&self, path: &'a str) -> Result<Option<Child<'a>>, Cause> {
        let (parents, last) = pointer::split(path)?;
        let mut at = self.root;
        let mut behind = path.find('/').unwrap_or(path.len());
        for token in parents {
            behind += 1 + token.len();
            at = self.step(at, token, &path[..behind])?;
        }
        self.member(at, pointer::decode(last, self.arena)?, || path[..behind].to_owned())
    }

    /// Opens every container on the way to a path.
    pub(super) fn open(&mut self, path: &'a str) -> Result<Place<'a>, Cause> {
        let (parents, last) = pointer::split(path)?;
        let mut parent = self.open_child(self.root).map_err(Cause::NoDocument)?;
        self.root = Child::Open(parent);
        let mut behind = path.find('/').unwrap_or(path.len());
        for token in parents {
            behind += 1 + token.len();
            let child = self.step(Child::Open(parent), token, &path[..behind])?;
            let node = self
                .open_child(child)
                .map_err(|found| Cause::NotAContainer { parent: path[..behind].to_owned(), found })?;
            if let Child::Whole(_) = child {
                self.set(Place { parent, key: pointer::decode(token, self.arena)? }, Child::Open(node))?;
            }
            parent = node;
        }
        Ok(Place { parent, key: pointer::decode(last, self.arena)? })
    }

    pub(super) fn get_at(&self, place: Place<'a>) -> Result<Option<Child<'a>>, Cause> {
        self.member(Child::Open(place.parent), place.key, String::new)
    }

    /// Adds or replaces the member of an object, replaces the item of a list.
    pub(super) fn set(&mut self, place: Place<'a>, child: Child<'a>) -> Result<(), Cause> {
        match &mut self.nodes[place.parent] {
            Node::List(items) => {
                let at = pointer::index(place.key, items.len(), 0)?;
                items[at] = child;
            }
            Node::Object(object) => object.set(place.key, Some(child)),
            Node::Closed(_) => {}
        }
        Ok(())
    }

    /// Adds or replaces the member of an object, inserts the item of a list.
    pub(super) fn add(&mut self, place: Place<'a>, child: Child<'a>) -> Result<(), Cause> {
        let Node::List(items) = &mut self.nodes[place.parent] else { return self.set(place, child) };
        let at = if place.key == "-" { items.len() } else { pointer::index(place.key, items.len(), 1)? };
        count(&mut self.moves, items.len() - at)?;
        items.insert(at, child);
        Ok(())
    }

    pub(super) fn remove(&mut self, place: Place<'a>) -> Result<(), Cause> {
        match &mut self.nodes[place.parent] {
            Node::List(items) => {
                let at = pointer::index(place.key, items.len(), 0)?;
                count(&mut self.moves, items.len() - at)?;
                items.remove(at);
            }
            Node::Object(object) => {
                object.get(place.key).ok_or(Cause::NoMember)?;
                object.set(place.key, None);
            }
            Node::Closed(_) => {}
        }
        Ok(())
    }

    /// The value of a child, with everything that is open in it closed.
    pub(super) fn close(&mut self, child: Child<'a>) -> Result<Value<'a>, Cause> {
        let root = match child {
            Child::Whole(value) => return Ok(value),
            Child::Open(node) => node,
        };
        // Parents before children; closed from the end, children first.
        let mut order = vec![root];
        let mut at = 0;
        while let Some(node) = order.get(at) {
            at += 1;
            let open = |child: &Child<'a>| match child {
                Child::Open(node) => Some(*node),
                Child::Whole(_) => None,
            };
            match &self.nodes[*node] {
                Node::List(items) => order.extend(items.iter().filter_map(open)),
                Node::Object(object) => order.extend(
                    object.changed.values().filter_map(|change| change.child.as_ref().and_then(open)),
                ),
                Node::Closed(_) => {}
            }
        }
        for node in order.into_iter().rev() {
            let value = match mem::replace(&mut self.nodes[node], Node::Closed(Value::Null)) {
                Node::List(items) => self.close_list(&items)?,
                Node::Object(object) => self.close_object(object)?,
                Node::Closed(value) => value,
            };
            self.nodes[node] = Node::Closed(value);
        }
        Ok(self.closed(Child::Open(root)))
    }

    fn close_list(&self, items: &[Child<'a>]) -> Result<Value<'a>, Cause> {
        let mut list = self.arena.list(items.len()).map_err(|_| Cause::Memory)?;
        for item in items {
            list.push(self.closed(*item)).map_err(|_| Cause::Memory)?;
        }
        Ok(Value::List(list.finish()))
    }

    fn close_object(&self, mut object: Changes<'a>) -> Result<Value<'a>, Cause> {
        let base = object.base.entries();
        let mut entries = self.arena.list(base.len() + object.changed.len()).map_err(|_| Cause::Memory)?;
        for entry in base {
            let change = match entry.key {
                Value::String(key) => object.changed.remove(key),
                _ => None,
            };
            let value = match change {
                Some(Change { child: Some(child), .. }) => self.closed(child),
                Some(Change { child: None, .. }) => continue,
                None => entry.value,
            };
            entries.push(Entry { key: entry.key, value }).map_err(|_| Cause::Memory)?;
        }
        let mut added: Vec<_> = object
            .changed
            .into_iter()
            .filter_map(|(key, change)| Some((change.order, key, self.closed(change.child?))))
            .collect();
        added.sort_unstable_by_key(|(order, ..)| *order);
        for (_, key, value) in added {
            entries.push(Entry { key: Value::String(key), value }).map_err(|_| Cause::Memory)?;
        }
        Map::new(entries.finish(), self.arena).map(Value::Map).map_err(|_| Cause::Memory)
    }

    /// The value of a child in which nothing is open.
    fn closed(&self, child: Child<'a>) -> Value<'a> {
        match child {
            Child::Whole(value) => value,
            Child::Open(node) => match &self.nodes[node] {
                Node::Closed(value) => *value,
                Node::List(_) | Node::Object(_) => Value::Null,
            },
        }
    }

    /// Opens one container, or says what is there instead of one.
    fn open_child(&mut self, child: Child<'a>) -> Result<usize, &'static str> {
        let value = match child {
            Child::Whole(value) => value,
            Child::Open(node) => match &self.nodes[node] {
                Node::Closed(value) => *value,
                Node::List(_) | Node::Object(_) => return Ok(node),
            },
        };
        let opened = match value {
            Value::List(items) => Node::List(items.iter().copied().map(Child::Whole).collect()),
            Value::Map(base) => Node::Object(Changes { base, changed: BTreeMap::new() }),
            other => return Err(kind(&other)),
        };
        match child {
            Child::Open(node) => {
                self.nodes[node] = opened;
                Ok(node)
            }
            Child::Whole(_) => {
                self.nodes.push(opened);
                Ok(self.nodes.len() - 1)
            }
        }
    }

    /// The value that one token of a path leads to, which must be there. `so_far` is the path up to and with the token.
    fn step(&self, at: Child<'a>, token: &'a str, so_far: &str) -> Result<Child<'a>, Cause> {
        let missing = || Cause::NoParent { parent: so_far.to_owned() };
        let key = pointer::decode(token, self.arena)?;
        let parent = || {
            let before = &so_far[..so_far.len() - token.len()];
            before.strip_suffix('/').unwrap_or(before).to_owned()
        };
        match self.member(at, key, parent)? {
            None | Some(Child::Whole(Value::Null)) => Err(missing()),
            Some(child) => Ok(child),
        }
    }

    /// A member or item. `path` is that of `at`.
    fn member(
        &self,
        at: Child<'a>,
        key: &str,
        path: impl Fn() -> String,
    ) -> Result<Option<Child<'a>>, Cause> {
        let value = match at {
            Child::Whole(value) => value,
            Child::Open(node) => match &self.nodes[node] {
                Node::List(items) => return Ok(Some(items[pointer::index(key, items.len(), 0)?])),
                Node::Object(object) => return Ok(object.get(key)),
                Node::Closed(value) => *value,
            },
        };
        match value {
            Value::List(items) => Ok(Some(Child::Whole(items[pointer::index(key, items.len(), 0)?]))),
            Value::Map(map) => Ok(map.field(key).copied().map(Child::Whole)),
            other => Err(match path() {
                parent if parent.is_empty() => Cause::NoDocument(kind(&other)),
                parent => Cause::NotAContainer { parent, found: kind(&other) },
            }),
        }
    }
}

impl<'a> Changes<'a> {
    fn get(&self, key: &str) -> Option<Child<'a>> {
        match self.changed.get(key) {
            Some(change) => change.child,
            None => self.base.field(key).copied().map(Child::Whole),
        }
    }

    fn set(&mut self, key: &'a str, child: Option<Child<'a>>) {
        let order = self.changed.len();
        self.changed.entry(key).and_modify(|change| change.child = child).or_insert(Change { order, child });
    }
}

fn count(moves: &mut usize, more: usize) -> Result<(), Cause> {
    *moves = moves.saturating_add(more);
    if *moves > MAX_MOVES { Err(Cause::TooManyMoves) } else { Ok(()) }
}

/// What a value is, in the words of JSON.
pub(super) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Uint(_) | Value::Double(_) => "a number",
        Value::String(_) => "a string",
        Value::List(_) => "a list",
        Value::Map(_) | Value::Object(_) => "an object",
        _ => "a value without JSON form",
    }
}
