//! Words of a text.

/// Longer runs are no words but keys, hashes and base64; they are dropped.
pub const WORD_BYTES_MAX: usize = 40;

/// The words of `text`, in order: lower-cased maximal runs of alphanumeric characters of 2 to
/// [`WORD_BYTES_MAX`] bytes, with at least one letter; stop words are kept (see
/// [`is_stop_word`](super::is_stop_word)).
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| is_word(run))
        .map(str::to_lowercase)
}

/// Calls `take` with each of the [`words`] of `text`, without an allocation for each of them.
pub fn for_each_word(text: &str, mut take: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut lower = String::with_capacity(WORD_BYTES_MAX);
    let mut at = 0;
    // What is left always begins at a character boundary: it follows a character or a word.
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let mut seen = 0;
        let mut class = class_of(byte);
        while class & ALPHANUMERIC != 0 {
            seen |= class;
            at += 1;
            class = bytes.get(at).map_or(0, |byte| class_of(*byte));
        }
        if class != BEYOND {
            if at == start {
                at += 1;
                continue;
            }
            // Of letters and digits of ASCII alone.
            if seen & LETTER == 0 || !(2..=WORD_BYTES_MAX).contains(&(at - start)) {
                continue;
            }
            let run = &text[start..at];
            if seen & CAPITAL == 0 {
                take(run);
            } else {
                lower.clear();
                lower.push_str(run);
                lower.make_ascii_lowercase();
                take(&lower);
            }
            continue;
        }
        while let Some(length) = alphanumeric_at(text, at) {
            at += length;
        }
        if at == start {
            at += char_length(byte);
            continue;
        }
        let run = &text[start..at];
        if is_word(run) {
            if run.chars().all(has_no_case) {
                take(run);
                continue;
            }
            // Lower case depends on the neighbours (the final sigma), so the run goes as one.
            take(&run.to_lowercase());
        }
    }
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const CAPITAL: u8 = 4;
const ALPHANUMERIC: u8 = LETTER | DIGIT;
/// Not of ASCII.
const BEYOND: u8 = 8;

/// What each byte is.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte: u8 = 0;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => LETTER | CAPITAL,
            b'0'..=b'9' => DIGIT,
            0x80.. => BEYOND,
            _ => 0,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

fn class_of(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

fn is_word(run: &str) -> bool {
    let has_letter = || {
        if run.is_ascii() {
            run.bytes().any(|byte| byte.is_ascii_alphabetic())
        } else {
            run.chars().any(|c| is_usual_letter(c) || c.is_alphabetic())
        }
    };
    (2..=WORD_BYTES_MAX).contains(&run.len()) && has_letter()
}

/// The length of the alphanumeric character that begins at byte `at`, if one does.
fn alphanumeric_at(text: &str, at: usize) -> Option<usize> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        return byte.is_ascii_alphanumeric().then_some(1);
    }
    let letter = text.get(at..)?.chars().next()?;
    (is_usual_letter(letter) || letter.is_alphanumeric()).then(|| letter.len_utf8())
}

/// Whether a character is one of the letters beyond ASCII that most texts are made of, told without
/// a search in the tables of Unicode.
fn is_usual_letter(c: char) -> bool {
    matches!(c,
        // Of Latin
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{24f}'
        // Of Cyrillic
        | '\u{400}'..='\u{481}')
        || has_no_case(c)
}

/// Letters of Chinese, Japanese and Korean; they are neither capital nor small.
fn has_no_case(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// The length of the character that begins with `byte`.
fn char_length(byte: u8) -> usize {
    match byte {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<String> {
        words(text).collect()
    }

    #[test]
    fn a_word_is_a_lower_cased_run_of_letters_and_digits() {
        assert_eq!(
            all("Query-Processing in DB2!"),
            ["query", "processing", "in", "db2"]
        );
        assert_eq!(
            all("\u{c4}pfel, \u{39f}\u{394}\u{39f}\u{3a3}"),
            ["\u{e4}pfel", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}"]
        );
    }

    #[test]
    fn single_letters_numbers_and_keys_are_no_words() {
        assert!(all("a 1 2024 x").is_empty());
        assert!(all(&"k".repeat(WORD_BYTES_MAX + 1)).is_empty());
        assert_eq!(all(&"k".repeat(WORD_BYTES_MAX)).len(), 1);
    }

    #[test]
    fn the_usual_letters_are_letters_and_those_without_case_stay_as_they_are() {
        for c in '\0'..=char::MAX {
            assert!(c.is_alphabetic() || !is_usual_letter(c), "{c:?}");
            let lower = || c.to_string().to_lowercase();
            assert!(!has_no_case(c) || lower() == c.to_string(), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_to_read_words_agree(text in "\\PC*|[a-zA-Z0-9 \u{df}\u{130}\u{3a3}\u{4e2d}\u{ac00}\u{430}\u{3042}.\u{a0}]*") {
            let mut read = Vec::new();
            for_each_word(&text, |word| read.push(word.to_owned()));
            prop_assert_eq!(read, all(&text));
        }
    }
}
