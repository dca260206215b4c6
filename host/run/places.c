#include "places.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/path.h"

#define SEARCHED_DIRS_MAX 4
#define THIS_PROGRAM "/proc/self/exe"

static enum nacre_status keep(char **ret_text, const char *text, struct nacre_error *err)
{
    *ret_text = strdup(text);
    return *ret_text ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
}

static const char *home(void)
{
    const char *from_environment = getenv("HOME");
    const struct passwd *entry;

    if (from_environment && from_environment[0] == '/')
        return from_environment;
    entry = getpwuid(geteuid());
    return entry && entry->pw_dir && entry->pw_dir[0] == '/' ? entry->pw_dir : NULL;
}

/* `given`, or $VARIABLE/TAIL, or ~/FALLBACK/TAIL. */
static enum nacre_status find(const char *given, const char *variable,
                              const char *fallback, const char *tail, char **ret_path,
                              struct nacre_error *err)
{
    const char *base = getenv(variable);
    char path[PATH_MAX];
    int length;

    if (given)
        return keep(ret_path, given, err);
    /* The XDG rule: a relative path there is to be ignored. */
    if (base && base[0] == '/') {
        length = snprintf(path, sizeof(path), "%s/%s", base, tail);
    } else {
        if (!home())
            return nacre_fail(err, NACRE_ERR_IO, "no home directory: set HOME or %s",
                              variable);
        length = snprintf(path, sizeof(path), "%s/%s/%s", home(), fallback, tail);
    }
    if (length >= (int)sizeof(path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the path of HOME or %s is over %zu bytes", variable,
                          sizeof(path) - 1);
    return keep(ret_path, path, err);
}

/* The directory of the nacre program, whoever runs it, for what is installed beside it. */
static bool program_dir(const char *program, char ret_path[PATH_MAX])
{
    ssize_t length;
    char *slash;

    if (program && strcmp(program, THIS_PROGRAM) != 0) {
        if (!realpath(program, ret_path))
            return false;
    } else {
        /* What the kernel calls it has no links left to resolve, one by one. */
        length = readlink(THIS_PROGRAM, ret_path, PATH_MAX - 1);
        if (length <= 0 || ret_path[0] != '/')
            return false;
        ret_path[length] = '\0';
    }
    slash = strrchr(ret_path, '/');
    *slash = '\0';
    return true;
}

/* What is searched by name: policies, and tools. */
struct searched {
    const char *variable, *users_tail;
    const char *beside[2]; /* of the program: in the build tree, and installed */
};

static enum nacre_status find_dirs(const char *const *given,
                                   const struct searched *searched, const char *program,
                                   char ***ret_dirs, struct nacre_error *err)
{
    char near[2][PATH_MAX], around[PATH_MAX + 32], directory[PATH_MAX];
    const char *found[SEARCHED_DIRS_MAX + 1] = { NULL };
    NACRE_AUTO(nacre_heap_guard) char *users = NULL;
    const char *const *dirs = found;
    size_t count = 0;
    bool has_program;
    enum nacre_status status = NACRE_OK;

    if (given) {
        dirs = given;
    } else {
        if (getenv(searched->variable))
            found[count++] = getenv(searched->variable);
        status = find(NULL, "XDG_CONFIG_HOME", ".config", searched->users_tail, &users,
                      err);
        if (status != NACRE_OK)
            return status;
        found[count++] = users;
        has_program = program_dir(program, directory);
        for (size_t i = 0; i < NACRE_COUNT(searched->beside) && has_program; i++) {
            (void)snprintf(around, sizeof(around), "%s/%s", directory,
                           searched->beside[i]);
            if (nacre_path_normalise(around, near[i], sizeof(near[i])))
                found[count++] = near[i];
        }
    }
    for (count = 0; dirs[count];)
        count++;
    *ret_dirs = calloc(count + 1, sizeof(**ret_dirs));
    if (!*ret_dirs)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count && status == NACRE_OK; i++)
        status = keep(&(*ret_dirs)[i], dirs[i], err);
    return status;
}

static enum nacre_status find_searched(const struct nacre_engine_options *options,
                                       struct nacre_places *places,
                                       struct nacre_error *err)
{
    static const struct searched policies = {
        "NACRE_POLICY_DIR", "nacre/policies", { "../policies", "../share/nacre/policies" }
    };
    static const struct searched tools = {
        "NACRE_TOOL_DIR", "nacre/tools", { "guest-tools", "../share/nacre/tools" }
    };
    enum nacre_status status = find_dirs(options->policy_dirs, &policies, places->program,
                                         &places->policy_dirs, err);

    return status == NACRE_OK ? find_dirs(options->tool_dirs, &tools, places->program,
                                          &places->tool_dirs, err)
                              : status;
}

enum nacre_status nacre_places_lack_program(struct nacre_error *err)
{
    return nacre_fail(
        err, NACRE_ERR_UNAVAILABLE,
        "the nacre program is not in PATH: name it in the engine's options or in "
        "NACRE_PROGRAM");
}

/* Who is spawned as the zygote and as the keeper; a process that forks itself need not
 * know, and commands may do without both. */
static enum nacre_status find_program(const struct nacre_engine_options *options,
                                      struct nacre_places *places,
                                      struct nacre_error *err)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];

    if (options->program)
        return keep(&places->program, options->program, err);
    if (options->fork_self)
        return NACRE_OK;
    if (getenv("NACRE_PROGRAM"))
        return keep(&places->program, getenv("NACRE_PROGRAM"), err);
    while (path && *path) {
        size_t length = strcspn(path, ":");

        (void)snprintf(candidate, sizeof(candidate), "%.*s/nacre", (int)length, path);
        if (candidate[0] == '/' && access(candidate, X_OK) == 0)
            return keep(&places->program, candidate, err);
        path += length;
        path += *path == ':';
    }
    return options->commands_only ? NACRE_OK : nacre_places_lack_program(err);
}

/* Who has no home and names none has no configuration of its own. */
static enum nacre_status find_host_file(const struct nacre_engine_options *options,
                                        struct nacre_places *places,
                                        struct nacre_error *err)
{
    const char *base = getenv("XDG_CONFIG_HOME");

    if (!options->host_file && !(base && base[0] == '/') && !home())
        return NACRE_OK;
    return find(options->host_file, "XDG_CONFIG_HOME", ".config", "nacre/host.yaml",
                &places->host_file, err);
}

/* What a guest must not write, or it would rule over the runs that follow. */
static enum nacre_status protect(struct nacre_places *places, struct nacre_error *err)
{
    char **const searched[] = { places->policy_dirs, places->tool_dirs };
    size_t count = 0, used = 0;

    for (size_t i = 0; i < NACRE_COUNT(searched); i++)
        for (size_t j = 0; searched[i][j]; j++)
            count++;
    places->protected_paths = calloc(count + 7, sizeof(*places->protected_paths));
    if (!places->protected_paths ||
        asprintf(&places->checkpoints_path, "%s.checkpoints", places->audit_path) < 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    places->protected_paths[used++] = places->state_dir;
    places->protected_paths[used++] = places->cache_dir;
    places->protected_paths[used++] = places->key_dir;
    places->protected_paths[used++] = places->audit_path;
    places->protected_paths[used++] = places->checkpoints_path;
    if (places->host_file)
        places->protected_paths[used++] = places->host_file;
    for (size_t i = 0; i < NACRE_COUNT(searched); i++)
        for (size_t j = 0; searched[i][j]; j++)
            places->protected_paths[used++] = searched[i][j];
    return NACRE_OK;
}

enum nacre_status nacre_places_find(const struct nacre_engine_options *options,
                                    struct nacre_places *ret_places,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_places_clear) struct nacre_places places = { 0 };
    char audit[PATH_MAX];
    enum nacre_status status;

    status = find(options->state_dir, "XDG_STATE_HOME", ".local/state", "nacre",
                  &places.state_dir, err);
    if (status == NACRE_OK)
        status = find(options->cache_dir, "XDG_CACHE_HOME", ".cache", "nacre",
                      &places.cache_dir, err);
    if (status == NACRE_OK)
        status = find(options->key_dir, "XDG_CONFIG_HOME", ".config", "nacre/keys",
                      &places.key_dir, err);
    if (status == NACRE_OK)
        status = find_host_file(options, &places, err);
    if (status == NACRE_OK)
        status = find_program(options, &places, err);
    if (status == NACRE_OK)
        status = find_searched(options, &places, err);
    if (status != NACRE_OK)
        return status;
    if (snprintf(audit, sizeof(audit), "%s/audit.jsonl", places.state_dir) >=
        (int)sizeof(audit))
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the state directory's path is too long");
    status =
        keep(&places.audit_path, options->audit_path ? options->audit_path : audit, err);
    if (status == NACRE_OK)
        status = protect(&places, err);
    if (status != NACRE_OK)
        return status;
    *ret_places = places;
    places = (struct nacre_places){ 0 };
    return NACRE_OK;
}

static void dirs_free(char **dirs)
{
    for (size_t i = 0; dirs && dirs[i]; i++)
        free(dirs[i]);
    free(dirs);
}

void nacre_places_clear(struct nacre_places *places)
{
    free(places->state_dir);
    free(places->cache_dir);
    free(places->key_dir);
    free(places->host_file);
    free(places->audit_path);
    free(places->checkpoints_path);
    free(places->protected_paths);
    free(places->program);
    dirs_free(places->policy_dirs);
    dirs_free(places->tool_dirs);
    *places = (struct nacre_places){ 0 };
}
