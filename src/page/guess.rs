//! Which character set, if nothing names it?
//!
//! chardetng tells by how often which bytes stand beside each other in the texts of which languages.
//! Pairs of ASCII count for nothing there, so it is given the other bytes and what stands around them
//! only: it reads 8 MB a second.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP};

use crate::url::CanonicalUrl;

/// Bytes given to the detector.
const DETECTION_BYTES: usize = 16 * 1024;

/// ASCII bytes left before and after others: a word or two.
const AROUND: usize = 32;

const ESCAPE: u8 = 0x1B;

/// The encoding of a body found at `url`; `None` if it is UTF-8 or ASCII, be it cut short.
pub(super) fn of(body: &[u8], url: &CanonicalUrl) -> Option<&'static Encoding> {
    let has_escapes = memchr::memchr(ESCAPE, body).is_some();
    let error = std::str::from_utf8(body).err();
    // Without a length it is a character that was cut.
    let is_utf8 = error.is_none_or(|error| error.error_len().is_none());
    if is_utf8 && !has_escapes {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    if has_escapes {
        // Between two escapes ASCII is none.
        let first = body.iter().position(|byte| is_telling(*byte));
        let start = first.unwrap_or(0).saturating_sub(AROUND);
        let end = body.len().min(start + DETECTION_BYTES);
        detector.feed(&body[start..end], end == body.len());
    } else {
        feed_around(&mut detector, body);
    }
    let host = url.host_key();
    let encoding = detector.guess(top_level(host.host()), Utf8Detection::Allow);
    // Escapes without Japanese (a terminal's log) stay what they are.
    (!is_utf8 || encoding == ISO_2022_JP).then_some(encoding)
}

fn is_telling(byte: u8) -> bool {
    !byte.is_ascii() || byte == ESCAPE
}

/// Feeds the bytes that are not of ASCII with what stands around them, up to the bound.
fn feed_around(detector: &mut EncodingDetector, body: &[u8]) {
    let mut at = 0;
    let mut fed = 0;
    while fed < DETECTION_BYTES
        && let Some(first) = beyond_ascii(body, at)
    {
        // Others that stand near are of the same piece, so that no character is cut.
        let mut end = first + 1;
        while end - first < DETECTION_BYTES
            && let Some(next) = beyond_ascii(body, end).filter(|next| next - end <= 2 * AROUND)
        {
            end = next + 1;
        }
        let start = first.saturating_sub(AROUND).max(at);
        end = body.len().min(end + AROUND);
        if at > 0 {
            detector.feed(b"\n", false);
        }
        detector.feed(&body[start..end], end == body.len());
        fed += end - start;
        at = end;
    }
}

/// The place of the next byte from `from` on that is not of ASCII.
fn beyond_ascii(body: &[u8], from: usize) -> Option<usize> {
    let rest = body.get(from..)?;
    let length = Encoding::ascii_valid_up_to(rest);
    (length < rest.len()).then(|| from + length)
}

/// The last label of the host's name, which tells of languages; the detector panics at what is none.
fn top_level(host: &str) -> Option<&[u8]> {
    let label = host.rsplit('.').next()?;
    let is_name = label
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_name.then_some(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn guess(url: &str, body: &[u8]) -> Option<&'static str> {
        of(body, &CanonicalUrl::parse(url).unwrap()).map(Encoding::name)
    }

    /// Words, and their bytes in an encoding.
    fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
        encoding.encode(text).0.into_owned()
    }

    const RUSSIAN: &str = "\u{42d}\u{442}\u{43e} \u{43f}\u{440}\u{43e}\u{441}\u{442}\u{43e} \u{440}\u{443}\u{441}\u{441}\u{43a}\u{438}\u{439} \u{442}\u{435}\u{43a}\u{441}\u{442} \u{43e} \u{43f}\u{43e}\u{433}\u{43e}\u{434}\u{435}";

    #[test]
    fn what_is_nowhere_said_is_guessed() {
        let russian = encoded(encoding_rs::KOI8_R, RUSSIAN);
        let late = [vec![b' '; 3 * DETECTION_BYTES], russian.clone()].concat();
        // The detector knows KOI8-U only, which differs in letters that Russian lacks.
        assert_eq!(guess("http://h.test/", &russian), Some("KOI8-U"));
        assert_eq!(guess("http://h.test/", &late), Some("KOI8-U"));
        let japanese = "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{30c6}\u{30ad}\u{30b9}\u{30c8}";
        let japanese = encoded(ISO_2022_JP, japanese);
        assert_eq!(guess("http://h.test/", &japanese), Some("ISO-2022-JP"));
    }

    #[test]
    fn what_can_be_utf_8_is() {
        for body in [
            &b"plain"[..],
            b"plain \x1b[1m log",
            "gr\u{fc}n".as_bytes(),
            "cut: \u{20ac}".as_bytes().split_last().unwrap().1,
        ] {
            assert_eq!(guess("http://h.test/", body), None, "{body:?}");
        }
    }

    #[test]
    fn where_few_bytes_tell_the_country_does() {
        // A name, a word of Catalan, and the quotation marks of an old Macintosh: by themselves they
        // look like Vietnamese, Baltic and Hungarian.
        for body in [
            &b"<title>Ver\xf4nica's Home Page</title><h1>Ver\xf4nica</h1>"[..],
            b"<p>Llenguatges i Sistemes Inform\xe0tics. Technical report",
            b"knowledge representation and \x8cexpert systems\xb9, planning",
            b"<A>the list</A> on the department\xb9s placement exam",
        ] {
            for url in ["http://cs.h.edu/", "http://cs.h.ca/", "http://h.us:8080/x"] {
                assert_eq!(guess(url, body), Some("windows-1252"), "{url} {body:?}");
            }
        }
        let polish = encoded(encoding_rs::ISO_8859_2, "ksi\u{105}\u{17c}ka");
        assert_eq!(guess("http://h.pl/", &polish), Some("ISO-8859-2"));
    }

    #[test]
    fn a_language_is_known_in_another_country() {
        let chinese = "\u{4e2d}\u{56fd}\u{8ba1}\u{7b97}\u{673a}\u{62a5}";
        let korean =
            "\u{d55c}\u{ad6d}\u{c5b4} \u{d648}\u{d398}\u{c774}\u{c9c0}\u{c785}\u{b2c8}\u{b2e4}";
        for (encoding, text, name) in [
            (encoding_rs::GBK, chinese, "GBK"),
            (encoding_rs::EUC_KR, korean, "EUC-KR"),
            (encoding_rs::KOI8_R, RUSSIAN, "KOI8-U"),
        ] {
            let body = [b"<li><a href=x>", &*encoded(encoding, text), b"</a>"].concat();
            for url in ["http://h.edu/", "http://h.test/", "http://127.0.0.1/"] {
                assert_eq!(guess(url, &body), Some(name), "{url}");
            }
        }
    }

    proptest! {
        #[test]
        fn ascii_far_from_other_bytes_changes_nothing(
            filler in "[a-z <>]{100,200}",
            words in prop::collection::vec("[a-z]{0,5}[\u{c0}-\u{ff}]{1,3}[a-z]{0,5}", 1..10),
        ) {
            let near = words.join(" ") + ".";
            let far = words.join(&format!(" {filler} ")) + ".";
            let guess = |text: &str| guess("http://h.test/", &encoded(encoding_rs::WINDOWS_1252, text));
            let whole = |text: &str| {
                let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
                detector.feed(&encoded(encoding_rs::WINDOWS_1252, text), true);
                Some(detector.guess(None, Utf8Detection::Allow).name())
            };
            prop_assert_eq!(guess(&near), whole(&near));
            prop_assert_eq!(guess(&far), whole(&far));
        }

        #[test]
        fn no_bytes_and_no_host_panic(
            body in prop::collection::vec(any::<u8>(), 0..200),
            host in "[a-zA-Z0-9.\u{e4}-]{1,12}|\\[::1\\]|127\\.1",
        ) {
            if let Ok(url) = CanonicalUrl::parse(&format!("http://{host}/")) {
                let guess = of(&body, &url);
                prop_assert!(guess.is_some() || std::str::from_utf8(&body).map_or_else(|e| e.error_len().is_none(), |_| true));
            }
        }
    }
}
