#include "config_dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(struct nacre_buf *out,
                                                      const char *format, ...)
{
    struct nacre_error err;
    char line[4096];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(line) ||
        nacre_buf_add(out, line, (size_t)length, &err) != NACRE_OK)
        abort();
}

static void say_line(struct nacre_buf *out, const char *key, const char *value,
                     struct nacre_place place)
{
    if (place.line == 0)
        return;
    say(out, "%s%s", key, value[0] ? " " : "");
    for (const char *at = value; *at; at++)
        say(out, *at == '\n' ? "\\n" : "%c", *at);
    say(out, " %d:%d\n", place.line, place.column);
}

static void say_rule(struct nacre_buf *out, const char *key,
                     const struct nacre_rule *rule)
{
    if (rule->text)
        say_line(out, key, rule->text, rule->place);
}

static void say_rules(struct nacre_buf *out, const char *key,
                      const struct nacre_rules *rules)
{
    say_line(out, key, "", rules->place);
    for (size_t i = 0; i < rules->count; i++)
        say_line(out, " -", rules->items[i].text, rules->items[i].place);
}

static void say_flag(struct nacre_buf *out, const char *key, struct nacre_flag flag)
{
    say_line(out, key, flag.on ? "true" : "false", flag.place);
}

static void say_limit(struct nacre_buf *out, const char *key, struct nacre_limit limit)
{
    char value[24];

    (void)snprintf(value, sizeof(value), "%" PRIu64, limit.value);
    say_line(out, key, value, limit.place);
}

static void say_binds(struct nacre_buf *out, const char *key,
                      const struct nacre_bind_rules *binds)
{
    say_line(out, key, "", binds->place);
    for (size_t i = 0; i < binds->count; i++) {
        const struct nacre_bind_rule *bind = &binds->items[i];

        say(out, " - %s at %s %s %d:%d\n", bind->host, bind->guest,
            bind->writable ? "rw" : "ro", bind->place.line, bind->place.column);
    }
}

static void say_tools(struct nacre_buf *out, const char *key,
                      const struct nacre_tool_rules *tools)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%s.allow", key);
    say_rules(out, name, &tools->allow);
    (void)snprintf(name, sizeof(name), "%s.also_allow", key);
    say_rules(out, name, &tools->also_allow);
    (void)snprintf(name, sizeof(name), "%s.deny", key);
    say_rules(out, name, &tools->deny);
    (void)snprintf(name, sizeof(name), "%s.profile", key);
    say_rule(out, name, &tools->profile);
}

static void say_container(struct nacre_buf *out,
                          const struct nacre_container_rules *container)
{
    say_rule(out, "image", &container->image);
    say_rule(out, "workdir", &container->workdir);
    say_rule(out, "user", &container->user);
    say_rule(out, "seccomp_profile", &container->seccomp_profile);
    say_rule(out, "apparmor_profile", &container->apparmor_profile);
    say_rule(out, "selinux_label", &container->selinux_label);
    say_rule(out, "setup_command", &container->setup_command);
    say_rule(out, "cpuset", &container->cpuset);
    say_rules(out, "tmpfs", &container->tmpfs);
    say_rules(out, "keep_capabilities", &container->keep_capabilities);
    say_rules(out, "blocked_syscalls", &container->blocked_syscalls);
    say_rules(out, "environment", &container->environment);
    say_rules(out, "ulimits", &container->ulimits);
    say_flag(out, "read_only_root", container->read_only_root);
    say_limit(out, "memory_swap", container->memory_swap);
    say_limit(out, "memory_reservation", container->memory_reservation);
    say_limit(out, "cpus_nano", container->cpus_nano);
    say_limit(out, "disk_bytes", container->disk_bytes);
    say_limit(out, "disk_iops", container->disk_iops);
    say_limit(out, "disk_io_weight", container->disk_io_weight);
}

static void say_browser(struct nacre_buf *out, const struct nacre_browser_rules *browser)
{
    say_line(out, "browser", "", browser->place);
    say_flag(out, "browser.enabled", browser->enabled);
    say_flag(out, "browser.headless", browser->headless);
    say_flag(out, "browser.no_vnc_enabled", browser->no_vnc_enabled);
    say_flag(out, "browser.allow_host_control", browser->allow_host_control);
    say_flag(out, "browser.auto_start", browser->auto_start);
    say_rule(out, "browser.image", &browser->image);
    say_rule(out, "browser.container_prefix", &browser->container_prefix);
    say_rule(out, "browser.network", &browser->network);
    say_rule(out, "browser.cdp_source_range", &browser->cdp_source_range);
    say_limit(out, "browser.cdp_port", browser->cdp_port);
    say_limit(out, "browser.vnc_port", browser->vnc_port);
    say_limit(out, "browser.no_vnc_port", browser->no_vnc_port);
    say_limit(out, "browser.auto_start_timeout_ms", browser->auto_start_timeout_ms);
    say_rules(out, "browser.allowed_control_urls", &browser->allowed_control_urls);
    say_rules(out, "browser.allowed_control_hosts", &browser->allowed_control_hosts);
    say_rules(out, "browser.allowed_control_ports", &browser->allowed_control_ports);
    say_binds(out, "browser.binds", &browser->binds);
}

static void say_box(struct nacre_buf *out, const struct nacre_box_rules *box)
{
    say_line(out, "sandbox", "", box->place);
    say_line(out, "mode", nacre_mode_name(box->mode), box->mode_place);
    say_line(out, "scope", nacre_scope_name(box->scope), box->scope_place);
    say_line(out, "access", nacre_access_name(box->access), box->access_place);
    say_rule(out, "workspace_root", &box->workspace_root);
    say_rule(out, "session_tools_visibility", &box->session_tools_visibility);
    say_rule(out, "container_prefix", &box->container_prefix);
    say_container(out, &box->container);
    say_limit(out, "memory_bytes", box->memory_bytes);
    say_limit(out, "pids", box->pids);
    say_limit(out, "cpu_shares", box->cpu_shares);
    say_limit(out, "timeout_ms", box->timeout_ms);
    say_limit(out, "output_bytes", box->output_bytes);
    say_line(out, "network", nacre_network_mode_name(box->network), box->network_place);
    say_rules(out, "allowed_hosts", &box->allowed_hosts);
    say_rules(out, "denied_hosts", &box->denied_hosts);
    say_rules(out, "resolvers", &box->resolvers);
    say_rules(out, "fixed_hosts", &box->fixed_hosts);
    say_binds(out, "binds", &box->binds);
    say_rules(out, "denied_paths", &box->denied_paths);
    say_tools(out, "sandbox.tools", &box->tools);
    say_browser(out, &box->browser);
    say_limit(out, "prune_idle_hours", box->prune_idle_hours);
    say_limit(out, "prune_age_days", box->prune_age_days);
}

static void say_agent(struct nacre_buf *out, const struct nacre_agent_rules *rules)
{
    if (rules->id)
        say_line(out, "agent", rules->id, rules->place);
    say_rule(out, "workspace", &rules->workspace);
    say_box(out, &rules->box);
    say_tools(out, "tools", &rules->tools);
    say_line(out, "elevated", "", rules->elevated.place);
    say_flag(out, "elevated.enabled", rules->elevated.enabled);
    say_rules(out, "elevated.allow_from", &rules->elevated.allow_from);
}

void config_dump(const struct nacre_config *config, struct nacre_buf *out)
{
    say(out, "dialect %s\n", nacre_dialect_name(config->dialect));
    say_rule(out, "main_key", &config->main_key);
    say_agent(out, &config->all);
    for (size_t i = 0; i < config->agent_count; i++)
        say_agent(out, &config->agents[i]);
    for (size_t i = 0; i < config->note_count; i++)
        say(out, "%d:%d: %s: %s\n", config->notes[i].place.line,
            config->notes[i].place.column, config->notes[i].unwise ? "unwise" : "note",
            config->notes[i].text);
}
