/* What is unpacked may come from a guest that has taken the other end over: a message
 * is read whole and right, or not at all. */
#include "config.h"

#include <linux/filter.h>
#include <string.h>

/* What still is a deadline when it is counted in nanoseconds. */
#define MS_MAX (UINT64_MAX / 1000000 / 2)

static uint64_t unpack_between(struct unpack *unpack, uint64_t low, uint64_t high)
{
    uint64_t value = unpack_u64(unpack);

    if (value < low || value > high)
        unpack->failed = true;
    return value;
}

bool init_file_name_is_good(const char *name)
{
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789_-.");

    return length > 0 && length < START_FILE_NAME_MAX && name[length] == '\0' &&
           name[0] != '.';
}

bool init_config_pack(struct pack *pack, const struct init_config *config)
{
    pack_u64(pack, config->beat_ms_max);
    pack_u64(pack, config->commands_max);
    pack_u64(pack, config->once);
    pack_u64(pack, config->capabilities_kept);
    pack_u64(pack, config->weighed_apart);
    pack_u64(pack, config->landlock_none);
    pack_text(pack, config->oom_file);
    pack_text(pack, config->forks_file ? config->forks_file : "");
    pack_bytes(pack, config->filter, config->filter_bytes);
    pack_u64(pack, config->mask_count);
    for (size_t i = 0; i < config->mask_count; i++) {
        pack_text(pack, config->masks[i].path);
        pack_u64(pack, config->masks[i].device);
        pack_u64(pack, config->masks[i].inode);
    }
    pack_u64(pack, config->carries);
    pack_u64(pack, config->name_count);
    for (size_t i = 0; i < config->name_count; i++)
        pack_text(pack, config->names[i]);
    pack_u64(pack, config->question_count);
    for (size_t i = 0; i < config->question_count; i++)
        pack_text(pack, config->questions[i]);
    return !pack->failed;
}

bool init_config_unpack(struct unpack *unpack, struct init_room *room,
                        struct init_config *ret_config)
{
    struct init_config config = {
        .beat_ms_max = unpack_between(unpack, 1, MS_MAX),
        .commands_max = unpack_between(unpack, 1, CONFIG_COMMANDS_MAX),
        .masks = room->masks,
        .names = room->texts + CONFIG_LIST_MAX + 1,
        .questions = room->texts,
    };

    config.once = unpack_bool(unpack);
    if (config.once && config.commands_max != 1)
        unpack->failed = true;
    config.capabilities_kept = unpack_u64(unpack);
    config.weighed_apart = unpack_bool(unpack);
    config.landlock_none = unpack_bool(unpack);
    config.oom_file = unpack_text(unpack);
    config.forks_file = unpack_text(unpack);
    config.filter = unpack_bytes(unpack, &config.filter_bytes);
    if (config.filter_bytes % sizeof(struct sock_filter) != 0 ||
        config.filter_bytes / sizeof(struct sock_filter) > CONFIG_FILTER_MAX)
        unpack->failed = true;
    config.mask_count = (size_t)unpack_between(unpack, 0, CONFIG_LIST_MAX);
    for (size_t i = 0; !unpack->failed && i < config.mask_count; i++) {
        room->masks[i].path = unpack_text(unpack);
        room->masks[i].device = unpack_u64(unpack);
        room->masks[i].inode = unpack_u64(unpack);
    }
    config.carries = unpack_bool(unpack);
    config.name_count = unpack_texts(unpack, room->texts + CONFIG_LIST_MAX + 1,
                                     CONFIG_LIST_MAX);
    config.question_count = unpack_texts(unpack, room->texts, CONFIG_LIST_MAX);
    if (!unpack_whole(unpack))
        return false;
    *ret_config = config;
    return true;
}

bool init_start_pack(struct pack *pack, const struct init_start *start)
{
    pack_texts(pack, start->arguments);
    pack_texts(pack, start->environment);
    pack_text(pack, start->directory);
    pack_u64(pack, start->wall_ms_max);
    pack_u64(pack, start->open_files_max);
    pack_u64(pack, start->processes_max);
    pack_u64(pack, start->file_bytes_max);
    pack_u64(pack, start->input);
    pack_u64(pack, start->file_count);
    for (size_t i = 0; i < start->file_count; i++) {
        pack_text(pack, start->files[i].name);
        pack_bytes(pack, start->files[i].bytes, start->files[i].count);
    }
    pack_text(pack, start->certificates ? start->certificates : "");
    return !pack->failed;
}

bool init_start_unpack(struct unpack *unpack, struct init_room *room,
                       struct init_start *ret_start)
{
    const char **environment = room->texts + CONFIG_LIST_MAX + 1;
    struct init_start start = { .arguments = room->texts, .environment = environment };

    if (unpack_texts(unpack, room->texts, CONFIG_LIST_MAX) == 0)
        unpack->failed = true;
    (void)unpack_texts(unpack, environment, CONFIG_LIST_MAX);
    start.directory = unpack_text(unpack);
    start.wall_ms_max = unpack_between(unpack, 1, MS_MAX);
    start.open_files_max = unpack_u64(unpack);
    start.processes_max = unpack_u64(unpack);
    start.file_bytes_max = unpack_u64(unpack);
    start.input = unpack_bool(unpack);
    start.files = room->files;
    start.file_count = (size_t)unpack_between(unpack, 0, START_FILES_MAX);
    for (size_t i = 0; !unpack->failed && i < start.file_count; i++) {
        struct init_file *file = &room->files[i];

        file->name = unpack_text(unpack);
        file->bytes = unpack_bytes(unpack, &file->count);
        if (unpack->failed || !init_file_name_is_good(file->name))
            unpack->failed = true;
    }
    start.certificates = unpack_text(unpack);
    if (!unpack_whole(unpack))
        return false;
    *ret_start = start;
    return true;
}

bool init_exit_pack(struct pack *pack, const struct init_exit *exit)
{
    pack_u64(pack, exit->how);
    pack_u64(pack, exit->status);
    pack_u64(pack, exit->user_us);
    pack_u64(pack, exit->system_us);
    pack_u64(pack, exit->memory_bytes_peak);
    pack_u64(pack, exit->oom_kills);
    pack_u64(pack, exit->forks_refused);
    pack_u64(pack, exit->left_behind);
    return !pack->failed;
}

bool init_exit_unpack(struct unpack *unpack, struct init_exit *ret_exit)
{
    struct init_exit exit;

    exit.how = unpack_between(unpack, INIT_HOW_EXITED, INIT_HOW_KILLED);
    exit.status = unpack_between(unpack, 0, 255);
    exit.user_us = unpack_u64(unpack);
    exit.system_us = unpack_u64(unpack);
    exit.memory_bytes_peak = unpack_u64(unpack);
    exit.oom_kills = unpack_u64(unpack);
    exit.forks_refused = unpack_u64(unpack);
    exit.left_behind = unpack_u64(unpack);
    if (!unpack_whole(unpack))
        return false;
    *ret_exit = exit;
    return true;
}

bool init_answer_pack(struct pack *pack, const struct init_answer *answer)
{
    pack_text(pack, answer->question);
    pack_bytes(pack, answer->text, answer->count);
    return !pack->failed;
}

bool init_answer_unpack(struct unpack *unpack, struct init_answer *ret_answer)
{
    struct init_answer answer = { .question = unpack_text(unpack) };

    answer.text = unpack_bytes(unpack, &answer.count);
    if (answer.count > ANSWER_BYTES_MAX)
        unpack->failed = true;
    if (unpack->failed)
        return false;
    *ret_answer = answer;
    return true;
}
