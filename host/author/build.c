/*
 * From a folder to its module, a recipe for each language.  The folder is the author's,
 * and so is its toolchain: nothing here is a boundary.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "nacre/author.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "nacre/words.h"

static const char *const names[NACRE_LANGUAGE_COUNT] = {
#define X(id, name) [NACRE_LANGUAGE_##id] = name,
    NACRE_LANGUAGE_MAP(X)
#undef X
};

const char *nacre_language_name(enum nacre_language language)
{
    return names[language];
}

enum nacre_language nacre_language_find(const char *name)
{
    for (enum nacre_language i = NACRE_LANGUAGE_NONE + 1; i < NACRE_LANGUAGE_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return NACRE_LANGUAGE_NONE;
}

static void add(struct nacre_words *words, const char *word)
{
    nacre_words_add(words, word);
}

static void add_joined(struct nacre_words *words, const char *front, const char *back)
{
    char *word = NULL;

    if (asprintf(&word, "%s%s", front, back) < 0)
        word = NULL;
    nacre_words_take(words, word);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every file of `directory` that ends so, in the order of their names. */
static void add_files(struct nacre_words *words, const char *directory, const char *end)
{
    DIR *dir = opendir(directory);
    size_t first = words->count;

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name), tail = strlen(end);
        char path[NACRE_PATH_MAX];

        if (entry->d_name[0] == '.' || length <= tail ||
            strcmp(entry->d_name + length - tail, end) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/", directory);
        add_joined(words, path, entry->d_name);
    }
    if (dir)
        (void)closedir(dir);
    qsort(words->items + first, words->count - first, sizeof(words->items[0]), by_name);
}

static enum nacre_status lack(const char *what, const char *package,
                              struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "%s is not in PATH; %s", what, package);
}

static enum nacre_status finish(struct nacre_words *words, const char *directory,
                                const char *const *environment, struct nacre_error *err)
{
    if (words->failed)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "more than %d files to compile",
                          NACRE_WORDS_MAX);
    words->items[words->count] = NULL;
    return command_run(words->items, directory, environment, err);
}

/* ---- the recipes ---- */

struct job {
    const struct nacre_manifest *manifest;
    const char *module; /* where it goes: beside the old one, and then in its place */
    const char *sdk_dir;
};

static enum nacre_status build_c(const struct job *job, struct nacre_error *err)
{
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };
    char source[NACRE_PATH_MAX], abi[NACRE_PATH_MAX];

    if (!command_is_there("clang") || !command_is_there("wasm-ld"))
        return lack("clang or wasm-ld",
                    "Debian and Ubuntu: apt-get install clang lld wasi-libc "
                    "libclang-rt-dev-wasm32", err);
    if (!job->sdk_dir)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the guest SDK is not beside the program: install nacre, or "
                          "run it from its build");
    (void)snprintf(source, sizeof(source), "%s/src", job->manifest->directory);
    (void)snprintf(abi, sizeof(abi), "%s/../abi", job->sdk_dir);
    add(&words, "clang");
    add(&words, "--target=wasm32-wasi");
    add(&words, "-std=gnu17");
    add(&words, "-O2");
    add(&words, "-Wall");
    add(&words, "-Wextra");
    add_joined(&words, "-I", job->sdk_dir);
    add_joined(&words, "-I", source);
    add_joined(&words, "-I", abi);
    add_files(&words, source, ".c");
    add_files(&words, job->sdk_dir, ".c");
    add(&words, "-Wl,--stack-first");
    add(&words, "-Wl,-z,stack-size=1048576");
    add(&words, "-o");
    add(&words, job->module);
    return finish(&words, job->manifest->directory, NULL, err);
}

/* Zig keeps what it made beside the sources otherwise.  It builds from what it finds
 * there, so that it is no place that others could have made before. */
static bool zig_cache(char *ret_variable, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = cache && cache[0] == '/'
                     ? snprintf(ret_variable, size, "ZIG_LOCAL_CACHE_DIR=%s/zig", cache)
                 : home && home[0] == '/'
                     ? snprintf(ret_variable, size, "ZIG_LOCAL_CACHE_DIR=%s/.cache/zig",
                                home)
                     : -1;

    return length > 0 && (size_t)length < size;
}

static enum nacre_status build_zig(const struct job *job, struct nacre_error *err)
{
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };
    char cache[NACRE_PATH_MAX + 64];
    const char *const environment[] = { zig_cache(cache, sizeof(cache)) ? cache : NULL,
                                        NULL };
    static const char *const by_python[] = { "python3", "-c", "import ziglang", NULL };

    if (command_is_there("zig")) {
        add(&words, "zig");
    } else if (command_succeeds(by_python)) {
        add(&words, "python3");
        add(&words, "-m");
        add(&words, "ziglang");
    } else {
        return lack("zig", "take it from your distribution, or the package ziglang of "
                           "Python's pip", err);
    }
    add(&words, "build-exe");
    add(&words, "src/main.zig");
    add(&words, "-target");
    add(&words, "wasm32-wasi");
    add(&words, "-O");
    add(&words, "ReleaseSmall");
    add_joined(&words, "-femit-bin=", job->module);
    return finish(&words, job->manifest->directory, environment, err);
}

static enum nacre_status build_go(const struct job *job, struct nacre_error *err)
{
    static const char *const environment[] = { "GOOS=wasip1", "GOARCH=wasm",
                                               "CGO_ENABLED=0", NULL };
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };

    if (!command_is_there("go"))
        return lack("go", "Debian and Ubuntu: apt-get install golang-go (1.21 or later)",
                    err);
    add(&words, "go");
    add(&words, "build");
    add(&words, "-trimpath");
    add(&words, "-ldflags=-s -w");
    add(&words, "-o");
    add(&words, job->module);
    add(&words, "./src");
    return finish(&words, job->manifest->directory, environment, err);
}

static enum nacre_status build_rust(const struct job *job, struct nacre_error *err)
{
    /* An empty library needs nothing but the target's own.  It goes where the module will
     * be: rustc replaces what it writes to, be it /dev/null. */
    const char *const empty[] = { "rustc", "--target=wasm32-wasip1", "--crate-type=lib",
                                  "--emit=metadata", "-o", job->module, "-", NULL };
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };

    if (!command_is_there("rustc"))
        return lack("rustc", "Debian 13 and Ubuntu: apt-get install rustc "
                             "libstd-rust-dev-wasm32; or rustup target add wasm32-wasip1",
                    err);
    if (!command_succeeds(empty))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "rustc has no target wasm32-wasip1; rustup target add "
                          "wasm32-wasip1, or with a rustc of 1.78 or later of Debian's "
                          "or Ubuntu's: apt-get install libstd-rust-dev-wasm32");
    add(&words, "rustc");
    add(&words, "--edition=2021");
    add(&words, "--target=wasm32-wasip1");
    add(&words, "-Copt-level=2");
    add(&words, "-Cstrip=symbols");
    add(&words, "src/main.rs");
    add(&words, "-o");
    add(&words, job->module);
    return finish(&words, job->manifest->directory, NULL, err);
}

static enum nacre_status build_assemblyscript(const struct job *job,
                                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };
    char local[NACRE_PATH_MAX];

    (void)snprintf(local, sizeof(local), "%s/node_modules/.bin/asc",
                   job->manifest->directory);
    if (access(local, X_OK) != 0 && !command_is_there("asc"))
        return lack("asc", "npm install assemblyscript, in the tool's folder or with -g",
                    err);
    add(&words, access(local, X_OK) == 0 ? local : "asc");
    add(&words, "src/main.ts");
    add(&words, "-O");
    add(&words, "--runtime");
    add(&words, "stub");
    add(&words, "--use");
    add(&words, "abort=src/main/abort");
    add(&words, "-o");
    add(&words, job->module);
    return finish(&words, job->manifest->directory, NULL, err);
}

enum nacre_status nacre_author_build(const struct nacre_manifest *manifest,
                                     const char *sdk_dir, struct nacre_error *err)
{
    static enum nacre_status (*const recipes[])(const struct job *,
                                                struct nacre_error *) = {
        [NACRE_LANGUAGE_C] = build_c,
        [NACRE_LANGUAGE_ZIG] = build_zig,
        [NACRE_LANGUAGE_GO] = build_go,
        [NACRE_LANGUAGE_RUST] = build_rust,
        [NACRE_LANGUAGE_ASSEMBLYSCRIPT] = build_assemblyscript,
    };
    enum nacre_language language =
        manifest->language ? nacre_language_find(manifest->language)
                           : NACRE_LANGUAGE_NONE;
    char made[NACRE_PATH_MAX];
    struct job job = { manifest, made, sdk_dir };
    enum nacre_status status;

    if (language == NACRE_LANGUAGE_NONE)
        return nacre_fail_at(err, NACRE_ERR_USAGE, manifest->source,
                             manifest->name_place.line, manifest->name_place.column,
                             "the annotation nacre/language says how it is built: c, "
                             "zig, go, rust or assemblyscript");
    if ((size_t)snprintf(made, sizeof(made), "%.*s.new.wasm",
                         (int)(strlen(manifest->module) - strlen(".wasm")),
                         manifest->module) >= sizeof(made))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the folder's path is too long");
    (void)unlink(made); /* a compiler would write through a link of this name */
    status = recipes[language](&job, err);
    if (status == NACRE_OK && rename(made, manifest->module) != 0)
        status = nacre_fail(err, NACRE_ERR_IO, "%s made no module",
                            nacre_language_name(language));
    (void)unlink(made);
    return status;
}
