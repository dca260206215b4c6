/*
 * Options of programs that start others.  Trusts nothing: an option that is not known
 * may take the next word for itself, and then another word is the program.
 */
#include <string.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

struct scanning {
    const struct sh_effect *effect;
    struct sh_parse *parse;
    const struct sh_wrapper *wrapper;
    const struct sh_word *const *words;
    size_t count, at; /* `at`: the word that is read */
    struct sh_scan *scan;
};

static bool unknown(const struct scanning *scanning, const char *option)
{
    return nacre_sh_problem(scanning->parse, scanning->words[scanning->at]->at,
                            "what %s starts can't be told: its option '%.40s' is not "
                            "known here",
                            scanning->wrapper->name, option);
}

static bool tell(const struct scanning *scanning, unsigned char letter,
                 const struct sh_word *word)
{
    const struct sh_wrapper *wrapper = scanning->wrapper;

    return !wrapper->option || wrapper->option(scanning->effect, (char)letter, word);
}

/* The word behind an option is its value. */
static bool take_value(struct scanning *scanning, unsigned char letter)
{
    const struct sh_word *value;

    if (scanning->at + 1 >= scanning->count)
        return true;
    value = scanning->words[++scanning->at];
    if (!nacre_sh_word_is_one(value))
        return nacre_sh_problem(scanning->parse, value->at,
                                "what %s starts can't be told: '%.40s' may be several "
                                "words; put it in double quotes",
                                scanning->wrapper->name, value->text);
    scanning->scan->value[letter] = value;
    return tell(scanning, letter, value);
}

/* The rest of the word itself, from `from` on. */
static bool keep_rest(struct scanning *scanning, size_t from, unsigned char letter)
{
    const struct sh_word *rest =
        nacre_sh_word_rest(scanning->parse, scanning->words[scanning->at], from);

    if (!rest)
        return false;
    scanning->scan->value[letter] = rest;
    return tell(scanning, letter, rest);
}

static bool read_long(struct scanning *scanning)
{
    const struct sh_word *word = scanning->words[scanning->at];
    size_t size = strcspn(word->text + 2, "=");
    const char *known = scanning->wrapper->longs ? scanning->wrapper->longs : "";

    while (*known) {
        size_t length = strcspn(known, " =?");
        char kind = known[length];
        unsigned char letter = 0;

        if (length == size && strncmp(word->text + 2, known, size) == 0) {
            if (kind == '=' || kind == '?')
                letter = (unsigned char)known[length + 1] & 0x7f;
            scanning->scan->seen[letter] = true;
            if (word->text[2 + size] == '=')
                return kind == '=' || kind == '?'
                           ? keep_rest(scanning, 3 + size, letter)
                           : unknown(scanning, word->text);
            return kind != '=' || take_value(scanning, letter);
        }
        known += strcspn(known, " ");
        known += strspn(known, " ");
    }
    return unknown(scanning, word->text);
}

static bool read_shorts(struct scanning *scanning)
{
    const struct sh_word *word = scanning->words[scanning->at];
    const char *shorts = scanning->wrapper->shorts ? scanning->wrapper->shorts : "";

    for (size_t i = 1; i < word->size; i++) {
        unsigned char letter = (unsigned char)word->text[i];
        const char *known = letter < 128 && letter != ':' ? strchr(shorts, letter) : NULL;

        if (!known || word->marks[i] >= NACRE_MARK_ANY)
            return unknown(scanning, word->text);
        scanning->scan->seen[letter] = true;
        if (known[1] != ':')
            continue;
        if (i + 1 < word->size)
            return keep_rest(scanning, i + 1, letter);
        return known[2] == ':' || take_value(scanning, letter);
    }
    return true;
}

/* An expansion at the start of a word may be an option as well as an operand. */
static bool is_plain_start(const struct sh_word *word)
{
    return word->size > 0 && word->marks[0] < NACRE_MARK_ANY;
}

/* Behind "--" all words are operands. */
static bool tell_operands(const struct scanning *scanning)
{
    for (size_t i = scanning->at; i < scanning->count; i++)
        if (!tell(scanning, '\0', scanning->words[i]))
            return false;
    return true;
}

bool nacre_sh_scan(const struct sh_effect *effect, const struct sh_wrapper *wrapper,
                   struct sh_scan *ret_scan)
{
    struct sh_parse *parse = effect->parse;
    const struct sh_word *const *words = effect->words;
    size_t count = effect->count;
    struct scanning scanning = { .effect = effect,
                                 .parse = parse,
                                 .wrapper = wrapper,
                                 .words = words,
                                 .count = count,
                                 .scan = ret_scan };

    *ret_scan = (struct sh_scan){ 0 };
    for (scanning.at = 1; scanning.at < count; scanning.at++) {
        const struct sh_word *word = words[scanning.at];

        if (nacre_sh_word_is(word, "--")) {
            scanning.at++;
            if (wrapper->permutes && !tell_operands(&scanning))
                return false;
            break;
        }
        if (is_plain_start(word) && word->text[0] == '-' && word->size > 1) {
            if (!nacre_sh_word_is_one(word))
                return nacre_sh_problem(parse, word->at,
                                        "what %s starts can't be told: '%.40s' may be "
                                        "several words; put it in double quotes",
                                        wrapper->name, word->text);
            if (word->text[1] == '-' ? !read_long(&scanning) : !read_shorts(&scanning))
                return false;
        } else if (!wrapper->permutes) {
            break;
        } else {
            if (ret_scan->operand == 0)
                ret_scan->operand = scanning.at;
            if (!tell(&scanning, '\0', word))
                return false;
        }
    }
    if (!wrapper->permutes)
        ret_scan->operand = scanning.at < count ? scanning.at : count;
    else if (ret_scan->operand == 0)
        ret_scan->operand = count;
    return true;
}
