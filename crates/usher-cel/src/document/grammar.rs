//! The grammar of nested JSON as a flat loop, shared by the parser and by skipping.

use super::error::JsonError;
use super::lex::{Lexer, RawNumber, RawString};
use super::nesting::Nesting;

/// Receives the tokens of one value in order. `at` is the byte offset of the token's start.
pub(super) trait Sink<'b> {
    fn null(&mut self, at: usize) -> Result<(), JsonError>;
    fn bool(&mut self, value: bool, at: usize) -> Result<(), JsonError>;
    fn number(&mut self, number: RawNumber<'b>, at: usize) -> Result<(), JsonError>;
    fn string(&mut self, string: RawString<'b>, at: usize) -> Result<(), JsonError>;
    fn begin_list(&mut self) -> Result<(), JsonError>;
    fn end_list(&mut self, at: usize) -> Result<(), JsonError>;
    fn begin_object(&mut self) -> Result<(), JsonError>;
    /// Says whether the member's value is wanted; if not, no tokens of it follow.
    fn key(&mut self, key: RawString<'b>, at: usize) -> Result<Member, JsonError>;
    fn end_object(&mut self, at: usize) -> Result<(), JsonError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Read,
    Skip,
    /// As [`Self::Skip`], of a text that is known to be JSON.
    Jump,
}

/// Reads one value, `outside` levels deep in others. After an error the position is not moved.
#[inline]
pub(super) fn read<'b>(
    from: &mut Lexer<'b>,
    outside: usize,
    sink: &mut impl Sink<'b>,
) -> Result<(), JsonError> {
    let mut lexer = from.clone();
    values(&mut lexer, outside, sink)?;
    *from = lexer;
    Ok(())
}

#[inline(always)]
fn values<'b>(lexer: &mut Lexer<'b>, outside: usize, sink: &mut impl Sink<'b>) -> Result<(), JsonError> {
    let mut nesting = Nesting::new(outside);
    loop {
        let byte = lexer.peek();
        let at = lexer.offset();
        match byte {
            b'"' => sink.string(lexer.string()?, at)?,
            b'{' => {
                if nesting.is_full() {
                    return Err(lexer.too_deep());
                }
                lexer.advance();
                sink.begin_object()?;
                // Nothing is noted of an empty one: half of the objects of `managedFields` are.
                if lexer.peek() == b'}' {
                    lexer.advance();
                    sink.end_object(at)?;
                } else {
                    nesting.push(true);
                    if member(lexer, &nesting, sink, "a string as key, or `}`")? == Member::Read {
                        continue;
                    }
                }
            }
            b'[' => {
                if nesting.is_full() {
                    return Err(lexer.too_deep());
                }
                lexer.advance();
                sink.begin_list()?;
                if lexer.peek() != b']' {
                    nesting.push(false);
                    continue;
                }
                lexer.advance();
                sink.end_list(at)?;
            }
            b'-' | b'0'..=b'9' => sink.number(lexer.number()?, at)?,
            b't' => {
                lexer.literal("true")?;
                sink.bool(true, at)?;
            }
            b'f' => {
                lexer.literal("false")?;
                sink.bool(false, at)?;
            }
            b'n' => {
                lexer.literal("null")?;
                sink.null(at)?;
            }
            _ => return Err(lexer.unexpected("a value")),
        }
        if close(lexer, &mut nesting, sink)? {
            return Ok(());
        }
    }
}

/// What follows a value: takes the ends of everything that ends here. True when the outermost value is complete, false when
/// the position is at a further value.
#[inline(always)]
fn close<'b>(
    lexer: &mut Lexer<'b>,
    nesting: &mut Nesting,
    sink: &mut impl Sink<'b>,
) -> Result<bool, JsonError> {
    while nesting.inside() {
        let byte = lexer.peek();
        let at = lexer.offset();
        let in_object = nesting.in_object();
        if byte == b',' {
            lexer.advance();
            if !in_object || member(lexer, nesting, sink, "a string as key")? == Member::Read {
                return Ok(false);
            }
            continue;
        }
        match (in_object, byte) {
            (true, b'}') => sink.end_object(at)?,
            (false, b']') => sink.end_list(at)?,
            (true, _) => return Err(lexer.unexpected("`,` or `}`")),
            (false, _) => return Err(lexer.unexpected("`,` or `]`")),
        }
        lexer.advance();
        nesting.pop();
    }
    Ok(true)
}

/// A key and its colon, and the value too if the sink does not want it.
#[inline(always)]
fn member<'b>(
    lexer: &mut Lexer<'b>,
    nesting: &Nesting,
    sink: &mut impl Sink<'b>,
    expected: &'static str,
) -> Result<Member, JsonError> {
    if lexer.peek() != b'"' {
        return Err(lexer.unexpected(expected));
    }
    let at = lexer.offset();
    let member = sink.key(lexer.string()?, at)?;
    if lexer.peek() != b':' {
        return Err(lexer.unexpected("`:` after the key"));
    }
    lexer.advance();
    match member {
        Member::Read => {}
        // Not a recursion on the input: skipping skips nothing inside.
        Member::Skip => skip(lexer, nesting.depth())?,
        Member::Jump if matches!(lexer.peek(), b'{' | b'[') => lexer.jump(),
        Member::Jump => skip(lexer, nesting.depth())?,
    }
    Ok(member)
}

/// Moves over one value, `outside` levels deep in others, and checks it in full.
pub(super) fn skip(lexer: &mut Lexer<'_>, outside: usize) -> Result<(), JsonError> {
    if matches!(lexer.peek(), b'{' | b'[') && lexer.sweep(outside) {
        return Ok(());
    }
    read(lexer, outside, &mut Ignore)
}

pub(super) struct Ignore;

impl<'b> Sink<'b> for Ignore {
    fn null(&mut self, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
    fn bool(&mut self, _: bool, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
    fn number(&mut self, _: RawNumber<'b>, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
    fn string(&mut self, _: RawString<'b>, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
    fn begin_list(&mut self) -> Result<(), JsonError> {
        Ok(())
    }
    fn end_list(&mut self, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
    fn begin_object(&mut self) -> Result<(), JsonError> {
        Ok(())
    }
    fn key(&mut self, _: RawString<'b>, _: usize) -> Result<Member, JsonError> {
        Ok(Member::Read)
    }
    fn end_object(&mut self, _: usize) -> Result<(), JsonError> {
        Ok(())
    }
}
