//! The guard before html5ever's tree builder, and the loop that feeds its tokenizer.
//!
//! html5ever repairs markup in time quadratic in the depth of nesting and in the attributes of a
//! tag, and its formatting elements are built again in every paragraph. On real pages none of this
//! shows; a page made for it would take hours or all memory. So depth, attributes and nodes are
//! bounded before they get there.

use std::cell::{Cell, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{LocalName, TokenizerResult, local_name};

use memchr::memchr;

use super::PageLimits;
use super::arena::{Arena, Handle, Tree};
use super::quick::{self, Names};

/// Bytes of the text that are copied at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Bytes fed at once; between two pieces the guard is asked whether a tag is still open.
const PIECE_BYTES: usize = 2048;

/// Characters between attributes that one token may have beyond a piece before it is closed by force.
const SEPARATORS_MAX: usize = 512;

/// Nodes for each leaf of [`PageLimits::leaves_max`] (real pages have two to three).
const NODES_PER_LEAF: usize = 5;

/// Swallowed start tags that are searched for the one that an end tag closes.
const SWALLOWED_LOOK_BACK: usize = 16;

/// Parses `text` into a tree as the HTML standard has it, scripting disabled; and whether anything
/// was left out to keep it bounded.
pub(super) fn build(text: &str, limits: &PageLimits) -> (Tree, bool) {
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        drop_doctype: true,
        ..TreeBuilderOpts::default()
    };
    let guard = Guard {
        builder: TreeBuilder::new(Arena::new(), options),
        depth_max: limits.depth_max,
        attributes_max: limits.attributes_max,
        nodes_max: limits
            .leaves_max
            .saturating_mul(NODES_PER_LEAF)
            .saturating_add(1000),
        tokens: Cell::new(0),
        swallowed: RefCell::default(),
        flattened: Cell::new(false),
        is_between: Cell::new(false),
        is_raw: Cell::new(false),
    };
    let tokenizer_options = TokenizerOpts {
        // It is off already, and each piece would lose one.
        discard_bom: false,
        ..TokenizerOpts::default()
    };
    let mut feeder = Feeder {
        tokenizer: Tokenizer::new(guard, tokenizer_options),
        separators: 0,
        names: Names::new(),
    };
    let mut rest = text;
    let mut is_cut = false;
    while !rest.is_empty() && !is_cut {
        let mut end = rest.floor_char_boundary(BLOCK_BYTES);
        if end < rest.len() && rest[..end].ends_with('\r') {
            // It may be half of the end of a line.
            end -= 1;
        }
        let (block, after) = rest.split_at(end);
        rest = after;
        is_cut = !feeder.feed_block(&normalized(block));
    }
    let tokenizer = feeder.tokenizer;
    tokenizer.end();
    let flattened = tokenizer.sink.flattened.get() || is_cut;
    (tokenizer.sink.builder.sink.finish(), flattened)
}

/// `text` with the ends of its lines as the HTML standard normalizes them (13.2.3.5).
fn normalized(text: &str) -> StrTendril {
    let mut block = StrTendril::with_capacity(u32::try_from(text.len()).unwrap_or_default());
    let mut lines = text.split('\r');
    block.push_slice(lines.next().unwrap_or_default());
    for line in lines {
        if !line.starts_with('\n') {
            block.push_char('\n');
        }
        block.push_slice(line);
    }
    block
}

struct Feeder {
    tokenizer: Tokenizer<Guard>,
    names: Names,
    /// Characters between attributes since the last token.
    separators: usize,
}

impl Feeder {
    /// Feeds a block piece by piece; false if the tree was full before its end.
    fn feed_block(&mut self, block: &StrTendril) -> bool {
        let mut at = 0;
        while at < block.len() {
            if self.tokenizer.sink.is_full() {
                return false;
            }
            if self.tokenizer.sink.is_between.get()
                && let Some((token, end)) = quick::token(&mut self.names, block, at)
            {
                self.separators = 0;
                at = end;
                let _ = self.tokenizer.sink.process_token(token, 1);
                self.tokenizer.sink.is_between.set(true);
                continue;
            }
            let end = self.end_of_piece(block, at);
            let Some(piece) = quick::part(block, at, end) else {
                return false;
            };
            at = end;
            self.feed_piece(&piece);
        }
        true
    }

    /// Where the tokenizer gets a rest: at the end of what may be a tag or a comment, or, where
    /// markup is text, before what may end that.
    fn end_of_piece(&self, block: &StrTendril, at: usize) -> usize {
        let most = block.floor_char_boundary(at + PIECE_BYTES);
        let bytes = &block.as_bytes()[at..most];
        if self.tokenizer.sink.is_raw.get()
            && let Some(length @ 1..) = memchr(b'<', bytes)
        {
            return at + length;
        }
        memchr(b'>', bytes).map_or(most, |length| at + length + 1)
    }

    fn feed_piece(&mut self, piece: &StrTendril) {
        let sink = &self.tokenizer.sink;
        let tokens_before = sink.tokens.get();
        sink.is_between.set(false);
        feed(&self.tokenizer, piece.clone());
        // A tag, a comment or a document type ends with `>`: if one came of a piece with that at its
        // end only, and nothing after it, then nothing is left in the tokenizer.
        if memchr(b'>', piece.as_bytes()) != Some(piece.len() - 1) {
            sink.is_between.set(false);
        }
        if sink.tokens.get() != tokens_before {
            self.separators = 0;
            return;
        }
        // Within a tag, a comment or a declaration. An attribute needs a separator before it, and in
        // a quoted value or a comment a `>` more does no harm.
        self.separators += piece.bytes().filter(|byte| is_separator(*byte)).count();
        if self.separators > SEPARATORS_MAX {
            self.separators = 0;
            feed(&self.tokenizer, StrTendril::from_slice(">"));
        }
    }
}

fn feed(tokenizer: &Tokenizer<Guard>, piece: StrTendril) {
    let queue = BufferQueue::default();
    queue.push_back(piece);
    // The guard answers neither Script nor EncodingIndicator, but html5ever may yet.
    while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'')
}

struct Guard {
    builder: TreeBuilder<Handle, Arena>,
    depth_max: usize,
    attributes_max: usize,
    nodes_max: usize,
    /// Tokens so far, errors left out.
    tokens: Cell<u64>,
    /// Names of the start tags that were swallowed and are still open.
    swallowed: RefCell<Vec<LocalName>>,
    /// Something was swallowed or cut.
    flattened: Cell<bool>,
    /// The last token was a tag, a comment or a document type, and ordinary markup follows.
    is_between: Cell<bool>,
    /// The tokenizer reads markup as text until an end tag comes.
    is_raw: Cell<bool>,
}

impl Guard {
    fn is_full(&self) -> bool {
        self.builder.sink.len() > self.nodes_max
    }

    /// How deep the builder's current node lies.
    ///
    /// The builder keeps its stack to itself and announces only some of its changes; but to say
    /// whether the current node is foreign, it asks the sink for that node's name.
    fn depth(&self) -> usize {
        self.adjusted_current_node_present_but_not_in_html_namespace();
        self.builder.sink.named_depth()
    }

    /// Passes a token on to the tree builder, unless a bound is reached.
    fn pass(&self, mut token: Token, line: u64) -> TokenSinkResult<Handle> {
        match &mut token {
            Token::EOFToken => {}
            _ if self.is_full() => {
                self.flattened.set(true);
                return TokenSinkResult::Continue;
            }
            Token::TagToken(tag) => {
                self.tokens.set(self.tokens.get() + 1);
                if self.swallows(tag) {
                    return TokenSinkResult::Continue;
                }
                if tag.attrs.len() > self.attributes_max {
                    self.flattened.set(true);
                    tag.attrs.truncate(self.attributes_max);
                }
            }
            _ => self.tokens.set(self.tokens.get() + 1),
        }
        match self.builder.process_token(token, line) {
            // No script runs, and the character set is decided before.
            TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {
                TokenSinkResult::Continue
            }
            other => other,
        }
    }

    /// Whether this tag is not to reach the tree builder.
    fn swallows(&self, tag: &Tag) -> bool {
        let mut swallowed = self.swallowed.borrow_mut();
        match tag.kind {
            StartTag => {
                if self.depth() < self.depth_max {
                    // The builder has closed what was around the swallowed tags.
                    swallowed.clear();
                    return false;
                }
                if passes_at_any_depth(&tag.name) {
                    return false;
                }
                swallowed.push(tag.name.clone());
                self.flattened.set(true);
                true
            }
            EndTag => {
                let floor = swallowed.len().saturating_sub(SWALLOWED_LOOK_BACK);
                let open = swallowed[floor..]
                    .iter()
                    .rposition(|name| *name == tag.name);
                match open {
                    Some(at) => {
                        swallowed.truncate(floor + at);
                        true
                    }
                    None => false,
                }
            }
        }
    }
}

impl TokenSink for Guard {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        let is_markup = matches!(
            token,
            Token::TagToken(_) | Token::CommentToken(_) | Token::DoctypeToken(_)
        );
        let result = self.pass(token, line);
        let is_ordinary = matches!(result, TokenSinkResult::Continue);
        self.is_between.set(is_markup && is_ordinary);
        if is_markup {
            self.is_raw.set(!is_ordinary);
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Elements that nest nothing: they are empty, or the tokenizer reads them up to their end tag and
/// must hear of them, or (`a`) the builder closes the one before.
fn passes_at_any_depth(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("script")
            | local_name!("style")
            | local_name!("title")
            | local_name!("textarea")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("xmp")
            | local_name!("area")
            | local_name!("br")
            | local_name!("embed")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("wbr")
            | local_name!("html")
            | local_name!("body")
    )
}
