//! As much JSON as a tool with flat arguments needs, without a crate.  The host has
//! checked the arguments against input_schema before they come here.

/// The text that stands for `key` in an object whose values are all texts.
pub fn text_of(object: &str, key: &str) -> Option<String> {
    let mut rest = object.trim_start().strip_prefix('{')?.chars();
    loop {
        let name = next_text(&mut rest)?;
        let value = next_text(&mut rest)?;
        if name == key {
            return Some(value);
        }
    }
}

/// The next text, behind whatever stands before its quote.
fn next_text(rest: &mut std::str::Chars) -> Option<String> {
    rest.find(|c| *c == '"')?;
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.push(match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => escaped(rest)?,
                other => other,
            }),
            other => text.push(other),
        }
    }
}

fn four(rest: &mut std::str::Chars) -> Option<u32> {
    let digits: String = rest.take(4).collect();
    u32::from_str_radix(&digits, 16).ok()
}

fn escaped(rest: &mut std::str::Chars) -> Option<char> {
    let first = four(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    rest.next().filter(|c| *c == '\\')?;
    rest.next().filter(|c| *c == 'u')?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (four(rest)?.checked_sub(0xdc00)?))
}

pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
