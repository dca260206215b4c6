mod json;

use std::io::Read;

fn say(text: &str, structured: &str, is_error: bool) {
    println!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"structuredContent\":{},\"isError\":{}}}",
        json::quoted(text), structured, is_error
    );
}

fn main() {
    let mut arguments = String::new();
    if std::io::stdin().read_to_string(&mut arguments).is_err() {
        return say("the arguments are not UTF-8", "{}", true);
    }
    let Some(text) = json::text_of(&arguments, "text") else {
        return say("the arguments have no text", "{}", true);
    };
    let lines = text.matches('\n').count();
    let words = text.split_whitespace().count();
    say(
        &format!("{lines} lines, {words} words"),
        &format!("{{\"lines\":{lines},\"words\":{words}}}"),
        false,
    );
}
