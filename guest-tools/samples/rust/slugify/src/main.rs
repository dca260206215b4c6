//! slugify: a title as it stands in a URL. JSON on stdin, JSON on stdout: the standard
//! library is all it needs, and a crate such as serde_json would make it shorter.
use std::io::{Read, Write};
use std::iter::Peekable;
use std::str::Chars;

const INPUT_MAX: u64 = 1 << 20;

/// A JSON string, from behind its first quote on.
fn read_string(chars: &mut Peekable<Chars>) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'u' => text.push(read_unicode(chars)?),
                sign => text.push(sign),
            },
            sign => text.push(sign),
        }
    }
}

fn read_hex(chars: &mut Peekable<Chars>) -> Option<u32> {
    (0..4).try_fold(0, |value, _| Some(value * 16 + chars.next()?.to_digit(16)?))
}

fn read_unicode(chars: &mut Peekable<Chars>) -> Option<char> {
    let first = read_hex(chars)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    if chars.next()? != '\\' || chars.next()? != 'u' {
        return None;
    }
    let second = read_hex(chars)?.checked_sub(0xdc00)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
}

/// {"text": "..."}: the host has checked the arguments, so there is nothing else in it.
fn read_arguments(json: &str) -> Option<String> {
    let mut chars = json.chars().peekable();
    chars.find(|sign| *sign == '"')?;
    if read_string(&mut chars)? != "text" {
        return None;
    }
    chars.find(|sign| *sign == '"')?;
    read_string(&mut chars)
}

fn plain(sign: char) -> &'static str {
    match sign {
        'ä' | 'æ' => "ae",
        'ö' | 'ø' | 'œ' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'á' | 'à' | 'â' | 'ã' | 'å' => "a",
        'é' | 'è' | 'ê' | 'ë' => "e",
        'í' | 'ì' | 'î' | 'ï' => "i",
        'ó' | 'ò' | 'ô' | 'õ' => "o",
        'ú' | 'ù' | 'û' => "u",
        'ç' => "c",
        'ñ' => "n",
        _ => "",
    }
}

fn slugify(text: &str) -> String {
    let mut slug = String::new();
    for sign in text.chars().flat_map(char::to_lowercase) {
        let word = plain(sign);
        if sign.is_ascii_alphanumeric() {
            slug.push(sign);
        } else if !word.is_empty() {
            slug.push_str(word);
        } else if !slug.ends_with('-') && !slug.is_empty() && sign != '\'' && sign != '’' {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_string()
}

fn main() {
    let mut input = String::new();
    let read = std::io::stdin().take(INPUT_MAX).read_to_string(&mut input);
    let answer = match read.ok().and_then(|_| read_arguments(&input)).map(|text| slugify(&text)) {
        Some(slug) if !slug.is_empty() => format!(
            "{{\"content\":[{{\"type\":\"text\",\"text\":\"{slug}\"}}],\
             \"structuredContent\":{{\"slug\":\"{slug}\"}},\"isError\":false}}"
        ),
        _ => "{\"content\":[{\"type\":\"text\",\"text\":\"text has no letter or digit that a slug \
              can have\"}],\"structuredContent\":{\"code\":\"bad-input\"},\"isError\":true}"
            .to_string(),
    };
    if std::io::stdout().write_all(answer.as_bytes()).is_err() {
        std::process::exit(1);
    }
}
