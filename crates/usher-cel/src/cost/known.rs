//! What an estimate knows about the nodes of an expression: sizes, sizes of what lists and maps hold, places below variables.

use std::collections::HashMap;

use super::range::SizeEstimate;
use super::sizes::{Path, PathId, Paths, Sizes, is_scalar};
use crate::ast::{Ast, Expr, ExprId, Literal};
use crate::check::Type;

/// The sizes of what a list or map holds. cel-go `entrySizeEstimate`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) list: bool,
    pub(super) key: SizeEstimate,
    pub(super) value: SizeEstimate,
}

impl Entries {
    pub(super) fn union(self, other: Self) -> Self {
        Self { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// A variable of a comprehension.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Local {
    pub(super) path: Option<PathId>,
    pub(super) size: Option<SizeEstimate>,
    pub(super) entries: Option<Entries>,
}

pub(super) struct Known<'s> {
    ast: &'s Ast,
    types: Vec<Type>,
    stated: &'s dyn Sizes,
    paths: Paths,
    /// By node, as the next two.
    path_of: Vec<Option<PathId>>,
    sizes: Vec<Option<SizeEstimate>>,
    entries: Vec<Option<Entries>>,
    locals: HashMap<&'s str, Vec<Local>>,
}

impl<'s> Known<'s> {
    pub(super) fn new(ast: &'s Ast, types: Vec<Type>, stated: &'s dyn Sizes) -> Self {
        let count = ast.nodes().len();
        Self {
            ast,
            types,
            stated,
            paths: Paths::default(),
            path_of: vec![None; count],
            sizes: vec![None; count],
            entries: vec![None; count],
            locals: HashMap::new(),
        }
    }

    pub(super) fn ty(&self, id: ExprId) -> &Type {
        &self.types[id.0 as usize]
    }

    pub(super) fn bind(&mut self, name: &'s str, local: Local) {
        self.locals.entry(name).or_default().push(local);
    }

    pub(super) fn unbind(&mut self, name: &str) {
        if let Some(shadowed) = self.locals.get_mut(name) {
            shadowed.pop();
        }
    }

    /// The innermost variable of this name around the node that is looked at.
    pub(super) fn local(&self, name: &str) -> Option<Local> {
        self.locals.get(name)?.last().copied()
    }

    fn local_of(&self, id: ExprId) -> Option<Local> {
        match self.ast.expr(id) {
            Expr::Ident(name) => self.local(name),
            _ => None,
        }
    }

    pub(super) fn path(&self, id: ExprId) -> Option<PathId> {
        self.local_of(id).map_or_else(|| self.path_of[id.0 as usize], |local| local.path)
    }

    pub(super) fn set_path(&mut self, id: ExprId, path: Option<PathId>) {
        self.path_of[id.0 as usize] = path;
    }

    /// Says that a node is a variable.
    pub(super) fn set_variable(&mut self, id: ExprId, name: &str) {
        let path = self.paths.variable(name);
        self.set_path(id, Some(path));
    }

    /// The place of a part of what `id` is.
    pub(super) fn below(&mut self, id: ExprId, name: &str) -> Option<PathId> {
        let before = self.path(id)?;
        Some(self.paths.below(before, name))
    }

    /// Keeps what was found out about the size of a node.
    pub(super) fn set_size(&mut self, id: ExprId, size: Option<SizeEstimate>) {
        if size.is_some() {
            self.sizes[id.0 as usize] = size;
        }
    }

    /// cel-go `computeSize`.
    pub(super) fn size(&mut self, id: ExprId) -> Option<SizeEstimate> {
        let index = id.0 as usize;
        if self.sizes[index].is_some() {
            return self.sizes[index];
        }
        if let Some(size) = literal_size(self.ast.expr(id)) {
            return Some(SizeEstimate::exactly(size));
        }
        if let Some(size) = self.stated_size(self.path(id), &self.types[index]) {
            self.sizes[index] = Some(size);
            return Some(size);
        }
        if is_scalar(&self.types[index]) {
            return Some(SizeEstimate::exactly(1));
        }
        self.local_of(id)?.size
    }

    pub(super) fn size_or_unknown(&mut self, id: ExprId) -> SizeEstimate {
        self.size(id).unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// The size of the elements of the list `id`, which are of type `item`.
    pub(super) fn item_size(&mut self, id: ExprId, item: &Type) -> SizeEstimate {
        let path = self.below(id, "@items");
        self.stated_size(path, item).unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// See [`Sizes::most`].
    pub(super) fn most(&self) -> u64 {
        self.stated.most()
    }

    fn stated_size(&self, path: Option<PathId>, ty: &Type) -> Option<SizeEstimate> {
        let path: Option<Path<'_>> = path.map(|path| self.paths.get(path));
        self.stated.size(path, ty)
    }

    pub(super) fn set_entries(&mut self, id: ExprId, entries: Option<Entries>) {
        if entries.is_some() {
            self.entries[id.0 as usize] = entries;
        }
    }

    pub(super) fn entries(&self, id: ExprId) -> Option<Entries> {
        self.entries[id.0 as usize].or_else(|| self.local_of(id)?.entries)
    }
}

/// What the text of a literal tells about its size (cel-go `computeExprSize`).
fn literal_size(expr: &Expr) -> Option<u64> {
    let size = match expr {
        Expr::Literal(Literal::String(text)) => text.chars().count(),
        Expr::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Expr::Literal(_) => 1,
        Expr::List { elements, .. } => elements.len(),
        Expr::Map { entries } => entries.len(),
        _ => return None,
    };
    Some(size as u64)
}
