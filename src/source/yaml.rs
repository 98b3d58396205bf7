//! YAML and JSON text to JSON values, with the place of every key and value.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{
    Event, Options, Parser, ScalarStyle as ParsedStyle, ScanError, Span, StrInput, Tag, options,
};

use super::resolve::{self, Resolved};
use crate::diagnostic::{Code, Diagnostic, Key, Node, NodeKind, ScalarStyle, SourceText};

/// Deepest nesting: twice what the deepest built-in kind with a CustomResourceDefinition inside needs.
const MAX_DEPTH: usize = 200;
/// Most values of one file, counted after aliases are expanded: 16 MiB of the shortest list items make 8 million, which
/// no honest file has; a million of them take about 100 MiB for a moment.
const MAX_NODES: usize = 1_000_000;
/// Most bytes of text of one file after aliases are expanded: four times the largest file.
const MAX_TEXT: usize = 64 << 20;
/// Longest key.
const MAX_KEY: usize = 4096;

/// One document: its value and the same with places.
pub(super) type YamlDocument = (Value, Arc<Node>);

/// The documents of a text one after the other, empty ones left out, so that no more than one is in memory unless the caller keeps
/// them. After an error nothing follows. Numbers, booleans and null are told from text as Kubernetes does it (YAML 1.1 by
/// `sigs.k8s.io/yaml`): `on` is true, `0777` is 511.
pub(super) fn parse(source: &SourceText) -> impl Iterator<Item = Result<YamlDocument, Box<Diagnostic>>> {
    let settings: Options = options! {
        emit_comments: false,
        simple_key_max_lookahead: MAX_KEY,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        // As libyaml, on which Kubernetes' reader is modelled.
        block_scalar_eof_without_line_feed: true,
    };
    let text = source.text();
    let json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
    let mut reader = Reader {
        source,
        json,
        parser: Parser::new_from_str_with_options(text, settings),
        anchors: HashMap::new(),
        nodes: 0,
        text: 0,
    };
    let mut has_failed = false;
    std::iter::from_fn(move || {
        if has_failed {
            return None;
        }
        let document = reader.document().transpose();
        has_failed = matches!(document, Some(Err(_)));
        document
    })
}

struct Reader<'a> {
    source: &'a SourceText,
    /// The text is JSON: a number keeps its own spelling, `1.0` is not 1.
    json: bool,
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
    text: usize,
}

#[derive(Clone)]
struct Anchored {
    value: Value,
    node: Arc<Node>,
    /// What an alias adds to the budgets.
    nodes: usize,
    text: usize,
    depth: usize,
}

type Fault = Box<Diagnostic>;

/// A value, its node and how deep it is.
type Read = (Value, Arc<Node>, usize);

impl<'a> Reader<'a> {
    /// The next document that is not empty; `None` at the end of the text.
    fn document(&mut self) -> Result<Option<YamlDocument>, Fault> {
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event.map_err(|error| self.syntax(&error))?;
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) => self.anchors.clear(),
                Event::DocumentEnd => {}
                event => {
                    let (value, node, _) = self.value(event, span, 0)?;
                    if !value.is_null() {
                        return Ok(Some((value, node)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok(event)) => return Ok(event),
                Some(Err(error)) => return Err(self.syntax(&error)),
                None => {
                    let end = self.source.text().len();
                    return Err(self.fault(Code::YamlSyntax, end..end, "the text ends inside a document"));
                }
            }
        }
    }

    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Read, Fault> {
        let bytes = span.byte_range().unwrap_or_default();
        if depth > MAX_DEPTH {
            return Err(self.too_large(bytes, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.spend(1, 0, &bytes)?;
        let before = (self.nodes, self.text);
        let (anchor, read) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, self.scalar(&text, style, tag.as_deref(), &span)?)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", &bytes)?;
                (anchor, self.list(bytes, depth)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", &bytes)?;
                (anchor, self.mapping(bytes, depth)?)
            }
            Event::Alias(id) => return self.alias(id, depth, &bytes),
            _ => return Err(self.fault(Code::YamlSyntax, bytes, "expected a value")),
        };
        if anchor != 0 {
            let (nodes, text) = (self.nodes - before.0, self.text - before.1);
            let anchored =
                Anchored { value: read.0.clone(), node: read.1.clone(), nodes, text, depth: read.2 };
            // The copy that is kept for aliases counts like any other.
            self.spend(nodes, text, &read.1.span)?;
            self.anchors.insert(anchor, anchored);
        }
        Ok(read)
    }

    fn alias(&mut self, id: usize, depth: usize, bytes: &Range<usize>) -> Result<Read, Fault> {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(self.fault(Code::YamlSyntax, bytes.clone(), "an alias inside its own anchor"));
        };
        let (nodes, text, inner) = (anchored.nodes, anchored.text, anchored.depth);
        if depth + inner > MAX_DEPTH {
            return Err(self.too_large(bytes.clone(), format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.spend(nodes, text, bytes)?;
        let anchored = &self.anchors[&id];
        Ok((anchored.value.clone(), anchored.node.clone(), inner))
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ParsedStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<Read, Fault> {
        let bytes = span.byte_range().unwrap_or_default();
        self.spend(0, text.len(), &bytes)?;
        let plain = style == ParsedStyle::Plain;
        // The parser writes `~` for a value that is not there.
        let text = if plain && bytes.is_empty() { "" } else { text };
        let resolved = match tag {
            None if !plain => Resolved::Value(Value::String(text.to_owned())),
            None if self.json => resolve::json(text),
            None => resolve::yaml(text),
            Some(tag) => match tag.core_suffix() {
                Some(kind) => resolve::tagged(kind, text),
                None if tag.original() == "!" => Resolved::Value(Value::String(text.to_owned())),
                None => {
                    Resolved::Unsupported(format!("the tag {} has no meaning in Kubernetes", tag.original()))
                }
            },
        };
        match resolved {
            Resolved::Value(value) => {
                let style = match style {
                    ParsedStyle::Plain => ScalarStyle::Plain,
                    ParsedStyle::SingleQuoted => ScalarStyle::SingleQuoted,
                    ParsedStyle::DoubleQuoted => ScalarStyle::DoubleQuoted,
                    ParsedStyle::Literal => ScalarStyle::Literal,
                    ParsedStyle::Folded => ScalarStyle::Folded,
                };
                // Most texts stand in the file as they are, and need no copy.
                let text =
                    (self.source.text().get(style.inside(bytes.clone())) != Some(text)).then(|| text.into());
                let kind = NodeKind::Scalar { style, indent: span.indent.unwrap_or(0), text };
                Ok((value, Arc::new(Node { span: bytes, kind }), 0))
            }
            Resolved::Unsupported(why) => Err(self.fault(Code::YamlUnsupported, bytes, why)),
        }
    }

    fn list(&mut self, bytes: Range<usize>, depth: usize) -> Result<Read, Fault> {
        let (mut values, mut nodes, mut deepest) = (Vec::new(), Vec::new(), 0);
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                nodes.shrink_to_fit();
                let node = Node { span: bytes, kind: NodeKind::List(nodes) };
                return Ok((Value::Array(values), Arc::new(node), deepest + 1));
            }
            let (value, node, inner) = self.value(event, span, depth + 1)?;
            deepest = deepest.max(inner);
            values.push(value);
            nodes.push(node);
        }
    }

    fn mapping(&mut self, bytes: Range<usize>, depth: usize) -> Result<Read, Fault> {
        let mut values = Map::new();
        let mut entries: Vec<(Key, Arc<Node>)> = Vec::new();
        let mut merges = Vec::new();
        let mut deepest = 0;
        let file = self.source.text();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let merge = matches!(&event, Event::Scalar(text, ParsedStyle::Plain, _, None) if text == "<<");
            let key_span = span.byte_range().unwrap_or_default();
            let (key, _, _) = self.value(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let (value, node, inner) = self.value(event, span, depth + 1)?;
            deepest = deepest.max(inner);
            if merge {
                merges.push((value, node));
                continue;
            }
            let name = self.key(key, &key_span)?;
            if values.contains_key(&name) {
                let first = entries.iter().find(|(k, _)| k.name(file) == name).map(|(k, _)| k.span().start);
                let line = first.map_or(0, |at| self.source.line_column(at).0);
                let fault = Diagnostic::error(Code::DuplicateKey, format!("the key `{name}` is given twice"));
                let fault = fault
                    .in_file(self.source, key_span)
                    .help(format!("it stands first in line {line}; remove one"));
                return Err(Box::new(fault));
            }
            entries.push((Key::new(&name, key_span, file), node));
            values.insert(name, value);
        }
        for (value, node) in merges {
            self.merge(value, &node, &mut values, &mut entries)?;
        }
        // Nodes stay for as long as their rule does.
        entries.shrink_to_fit();
        // A block has no bracket to point at.
        let span = entries.first().filter(|_| bytes.is_empty()).map_or(bytes, |(key, _)| key.span());
        let node = Node { span, kind: NodeKind::Mapping(entries) };
        Ok((Value::Object(values), Arc::new(node), deepest + 1))
    }

    /// `<<: *base`, or a list of bases: fields that are not given here. The first base wins.
    fn merge(
        &self,
        value: Value,
        node: &Node,
        values: &mut Map<String, Value>,
        entries: &mut Vec<(Key, Arc<Node>)>,
    ) -> Result<(), Fault> {
        match (value, &node.kind) {
            (Value::Object(base), NodeKind::Mapping(nodes)) => {
                let file = self.source.text();
                for ((key, node), value) in nodes.iter().filter_map(|e| Some((e, base.get(e.0.name(file))?)))
                {
                    if !values.contains_key(key.name(file)) {
                        values.insert(key.name(file).to_owned(), value.clone());
                        entries.push((key.clone(), node.clone()));
                    }
                }
                Ok(())
            }
            (Value::Array(bases), NodeKind::List(nodes)) if bases.iter().all(Value::is_object) => bases
                .into_iter()
                .zip(nodes)
                .try_for_each(|(base, node)| self.merge(base, node, values, entries)),
            _ => Err(self.fault(
                Code::YamlUnsupported,
                node.span.clone(),
                "`<<` needs a mapping or a list of mappings",
            )),
        }
    }

    fn key(&self, key: Value, span: &Range<usize>) -> Result<String, Fault> {
        match key {
            Value::String(name) => Ok(name),
            Value::Number(number) if !self.json => Ok(number.to_string()),
            Value::Bool(on) if !self.json => Ok(on.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(self.fault(Code::YamlUnsupported, span.clone(), "a key must be a text"))
            }
        }
    }

    fn collection_tag(&self, tag: Option<&Tag>, kind: &str, bytes: &Range<usize>) -> Result<(), Fault> {
        match tag {
            Some(tag) if tag.core_suffix() != Some(kind) && tag.original() != "!" => {
                let why = format!("the tag {} has no meaning in Kubernetes", tag.original());
                Err(self.fault(Code::YamlUnsupported, bytes.clone(), why))
            }
            _ => Ok(()),
        }
    }

    fn spend(&mut self, nodes: usize, text: usize, at: &Range<usize>) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.text = self.text.saturating_add(text);
        if self.nodes > MAX_NODES || self.text > MAX_TEXT {
            return Err(self
                .too_large(at.clone(), format!("more than {MAX_NODES} values or {MAX_TEXT} bytes of text")));
        }
        Ok(())
    }

    fn too_large(&self, span: Range<usize>, what: String) -> Fault {
        let fault = Diagnostic::error(Code::YamlTooLarge, format!("the file has {what}, aliases expanded"));
        Box::new(fault.in_file(self.source, span).help("split the file, or write the repeated parts once"))
    }

    fn syntax(&self, error: &ScanError) -> Fault {
        let at = error.marker().byte_offset().unwrap_or(0);
        self.fault(Code::YamlSyntax, at..at, error.info())
    }

    fn fault(&self, code: Code, span: Range<usize>, message: impl Into<String>) -> Fault {
        Box::new(Diagnostic::error(code, message).in_file(self.source, span))
    }
}
