#include "jail_world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "in_child.h"
#include "nacre/tree.h"

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    dprintf(2, "the test's world can't be made: %s: %m\n", what);
    _exit(CHILD_CHECK_FAILED);
}

const char *jail_path(const struct jail *jail, const char *name, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", jail->top, name);
    return ret_path;
}

static void make_dir(const struct jail *jail, const char *name, uid_t owner)
{
    char path[128];

    must(mkdir(jail_path(jail, name, path), 0755) == 0 &&
             (geteuid() != 0 || chown(path, owner, owner) == 0),
         name);
}

static void make_file(const struct jail *jail, const char *name, const char *text,
                      uid_t owner)
{
    char path[128];
    int fd = open(jail_path(jail, name, path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
             (geteuid() != 0 || fchown(fd, owner, owner) == 0),
         name);
    (void)close(fd);
}

static void make_tree(const struct jail *jail, const char *top, uid_t owner)
{
    static const char *const dirs[] = { "", "/a", "/a/b" };
    char name[64];

    for (size_t i = 0; i < NACRE_COUNT(dirs); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", top, dirs[i]);
        make_dir(jail, name, owner);
    }
    (void)snprintf(name, sizeof(name), "%s/file", top);
    make_file(jail, name, "inside", owner);
    (void)snprintf(name, sizeof(name), "%s/a/b/deep", top);
    make_file(jail, name, "deep inside", owner);
}

void jail_prepare(struct jail *jail, const struct nacre_executor_ops *ops)
{
    uid_t guest = geteuid() == 0 ? 1000 : geteuid();

    *jail = (struct jail){ .ops = ops, .top = "/tmp/nacre-jail-XXXXXX" };
    (void)umask(022);
    must(mkdtemp(jail->top) && chmod(jail->top, 0755) == 0, "mkdtemp");
    make_tree(jail, "ws", guest);
    make_tree(jail, "ro", guest);
    make_dir(jail, "outside", guest);
    make_file(jail, "outside/canary", "untouched", guest);
    (void)snprintf(jail->state, sizeof(jail->state), "%s/state", jail->top);
    must(mkdir(jail->state, 0700) == 0, "state");
    jail->options.state_dir = jail->state;
    jail->request.input_fd = -1;
    jail->request.unsandboxed = true;
    jail->plan = (struct nacre_plan){
        .level = NACRE_LEVEL_PROCESS,
        .mounts = jail->mounts,
        .tmp_writable = true,
        .shared_memory = true,
        .limits = { .memory_bytes_max = UINT64_C(512) << 20, .wall_ms_max = 20000,
                    .open_files_max = 128, .output_bytes_max = 1 << 20,
                    .processes_max = 48, .scratch_bytes_max = 16 << 20,
                    .scratch_files_max = 512 },
        .sealed = true,
    };
}

void jail_mount(struct jail *jail, const char *guest, const char *name, bool writable,
                const char *denied)
{
    struct nacre_mount *mount = &jail->mounts[jail->plan.mount_count++];
    char path[128];

    must(jail->plan.mount_count <= JAIL_MOUNTS_MAX, "too many mounts");
    *mount = (struct nacre_mount){
        .guest = strdup(guest),
        .host = name ? strdup(name[0] == '/' ? name : jail_path(jail, name, path)) : NULL,
        .writable = writable,
    };
    if (denied)
        jail_deny(jail, denied);
}

void jail_deny(struct jail *jail, const char *denied)
{
    struct nacre_mount *mount = &jail->mounts[jail->plan.mount_count - 1];

    mount->denied = reallocarray(mount->denied, mount->denied_count + 1,
                                 sizeof(*mount->denied));
    must(mount->denied != NULL, "memory");
    mount->denied[mount->denied_count++] = strdup(denied);
}

enum nacre_status jail_open(struct jail *jail)
{
    return jail->ops->open(&jail->options, &jail->executor, &jail->err);
}

enum nacre_status jail_run(struct jail *jail, const char *text)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    enum nacre_status status = NACRE_OK;

    nacre_result_free(jail->result);
    jail->result = NULL;
    if (!jail->executor)
        status = jail_open(jail);
    if (status == NACRE_OK)
        status = nacre_result_new(&jail->result, &jail->err);
    if (status == NACRE_OK)
        status = nacre_tool_shell(text, &tool, &jail->err);
    if (status == NACRE_OK)
        status = nacre_executor_run(jail->executor, &jail->plan, tool, &jail->request,
                                    jail->result, &jail->err);
    return status;
}

bool jail_exits(struct jail *jail, const char *text, int expected)
{
    enum nacre_status status = jail_run(jail, text);

    if (status == NACRE_OK && jail->result->outcome == NACRE_OUTCOME_EXITED &&
        jail->result->exit_status == expected)
        return true;
    if (status != NACRE_OK)
        dprintf(2, "not run: %s\n", jail->err.text);
    else
        dprintf(2, "%s %d (%s), expected to exit with %d: %.2000s\n",
                nacre_outcome_name(jail->result->outcome), jail->result->exit_status,
                jail->result->reason, expected,
                jail->result->errors.bytes ? jail->result->errors.bytes : "");
    return false;
}

bool jail_says(const struct jail *jail, const char *output)
{
    const char *said = jail->result->output.bytes ? jail->result->output.bytes : "";

    if (strcmp(said, output) == 0)
        return true;
    dprintf(2, "said '%.2000s', expected '%s'\n", said, output);
    return false;
}

void jail_finish(struct jail *jail)
{
    struct nacre_error err;

    nacre_result_free(jail->result);
    jail->ops->free(jail->executor);
    for (uint32_t i = 0; i < jail->plan.mount_count; i++) {
        free(jail->mounts[i].guest);
        free(jail->mounts[i].host);
        for (uint32_t k = 0; k < jail->mounts[i].denied_count; k++)
            free(jail->mounts[i].denied[k]);
        free(jail->mounts[i].denied);
    }
    must(nacre_tree_remove(AT_FDCWD, jail->top, &err) == NACRE_OK, "removed");
}

bool jail_holds(const struct jail *jail, const char *name, const char *text)
{
    char path[128], bytes[256];
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(jail_path(jail, name, path), O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

    return count == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)count) == 0;
}

bool jail_has(const struct jail *jail, const char *name)
{
    char path[128];
    struct stat info;

    return lstat(jail_path(jail, name, path), &info) == 0;
}

int jail_processes(const char *words)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    must(dir != NULL, "/proc");
    while ((entry = readdir(dir)) != NULL) {
        char path[64], line[4096];
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        ssize_t size;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            atoi(entry->d_name) == getpid())
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%.16s/cmdline", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        size = fd < 0 ? 0 : read(fd, line, sizeof(line));
        for (ssize_t i = 0; i < size; i++)
            line[i] = line[i] ? line[i] : ' ';
        count += size > 0 && memmem(line, (size_t)size, words, strlen(words)) != NULL;
    }
    (void)closedir(dir);
    return count;
}

bool jail_all_gone(const char *words)
{
    const struct timespec pause = { .tv_nsec = 20000000 };

    for (int i = 0; i < 150; i++) {
        if (jail_processes(words) == 0)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

struct task {
    int (*body)(void *data);
    void *data;
};

static int as_nobody(void *data)
{
    const struct task *task = data;

    must(setgroups(0, NULL) == 0 &&
             setresgid(JAIL_NOBODY, JAIL_NOBODY, JAIL_NOBODY) == 0 &&
             setresuid(JAIL_NOBODY, JAIL_NOBODY, JAIL_NOBODY) == 0,
         "another user");
    return task->body(task->data);
}

bool jail_as_nobody(int (*body)(void *data), void *data)
{
    struct task task = { body, data };

    if (geteuid() != 0)
        return true;
    return in_child(as_nobody, &task) == 0;
}

bool jail_as_both(int (*body)(void *data), void *data)
{
    return in_child(body, data) == 0 && jail_as_nobody(body, data);
}
