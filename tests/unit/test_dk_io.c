/* Which disk something lies on, and whether operations there can be bounded: by tables
 * and a /sys of ordinary files, and by nodes that stand for disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/sysmacros.h>

#include "dk_io.h"
#include "scene.h"

static const char mounts[] =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"
    "23 22 0:25 / /run rw - tmpfs tmpfs rw\n"
    "24 22 0:40 / /home rw - btrfs /dev/vdb rw,space_cache\n"
    "25 22 0:41 / /merged rw - overlay overlay rw,lowerdir=/a\n"
    "26 22 254:32 / /journal rw - ext4 /dev/vdc rw,data=journal\n"
    "27 22 254:48 / /ordered rw - ext4 /dev/vdd rw,data=ordered\n"
    "28 22 254:49 / /xfs rw - xfs /dev/vde rw\n"
    "29 22 254:50 / /hidden rw - ext4 /dev/vdf rw\n"
    "30 22 254:51 / /other rw - ext4 /dev/vdg rw\n"
    "31 22 253:0 / /lvm rw - ext4 /dev/mapper/a-b rw\n"
    "broken\n"
    "32 22 254:52 / /cut rw\n";

static char blocks[256], nodes[256];
static struct dk_io_places places = { mounts, blocks, nodes };
static struct dk_io io;
static struct nacre_error err;

static void block(const char *dir, const char *dev, const char *name, bool is_part)
{
    char command[512];

    (void)snprintf(command, sizeof(command),
                   "mkdir -p block/%s && cd block/%s && echo %s >dev && "
                   "printf 'MAJOR=x\\nDEVNAME=%s\\nDEVTYPE=disk\\n' >uevent%s",
                   dir, dir, dev, name, is_part ? " && echo 1 >partition" : "");
    scene_shell(command);
}

static void link_block(const char *number, const char *dir)
{
    char command[256];

    (void)snprintf(command, sizeof(command), "ln -s %s block/%s", dir, number);
    scene_shell(command);
}

/* Only root can make nodes. */
static bool make_scene(void)
{
    if (geteuid() != 0)
        return false;
    (void)snprintf(blocks, sizeof(blocks), "%s/block", scene_top);
    (void)snprintf(nodes, sizeof(nodes), "%s/dev", scene_top);
    block("real/vda", "254:0", "vda", false);
    block("real/vda/vda1", "254:1", "vda1", true);
    block("real/vdd", "254:48", "vdd", false);
    block("real/vdg", "254:51", "vdg", false);
    block("real/vdf", "254:50", "vdf", false);
    block("real/dm-0", "253:0", "dm-0", false);
    link_block("254:1", "real/vda/vda1");
    link_block("254:48", "real/vdd");
    link_block("254:50", "real/vdf");
    link_block("254:51", "real/vdg");
    link_block("253:0", "real/dm-0");
    scene_shell("mkdir dev && cd dev && mknod vda b 254 0 && mknod vdd b 254 48 && "
                "mknod dm-0 b 253 0 && mknod vdg b 254 99");
    io = (struct dk_io){ .count = 0 };
    return true;
}

static enum nacre_status add(unsigned major_number, unsigned minor_number)
{
    return dk_io_add(&places, makedev(major_number, minor_number), "/what", &io, &err);
}

static void assert_disk(size_t at, unsigned major_number, unsigned minor_number,
                        const char *name)
{
    char node[512];

    (void)snprintf(node, sizeof(node), "%s/%s", nodes, name);
    assert_true(at < io.count);
    assert_int_equal(io.disks[at].major_number, major_number);
    assert_int_equal(io.disks[at].minor_number, minor_number);
    assert_string_equal(io.disks[at].node, node);
}

static void each_disk_is_there_once_and_whole(void **state)
{
    (void)state;
    if (!make_scene())
        skip();
    assert_int_equal(add(254, 1), NACRE_OK); /* a partition: its disk */
    assert_int_equal(add(254, 48), NACRE_OK);
    assert_int_equal(add(254, 1), NACRE_OK);
    assert_int_equal(add(0, 25), NACRE_OK); /* memory */
    assert_int_equal(add(253, 0), NACRE_OK);
    assert_int_equal(io.count, 3);
    assert_disk(0, 254, 0, "vda");
    assert_disk(1, 254, 48, "vdd");
    assert_disk(2, 253, 0, "dm-0");
}

static void what_can_not_be_bounded_is_refused_with_its_reason(void **state)
{
    static const struct {
        unsigned major_number, minor_number;
        const char *why;
    } rows[] = {
        { 0, 40, "'/what' lies on btrfs: only of ext4 is it certain" },
        { 0, 41, "'/what' lies on overlay: only of ext4" },
        { 254, 49, "'/what' lies on xfs: only of ext4" },
        { 254, 32, "'/what' is mounted with data=journal" },
        { 254, 50, "no node in /dev" }, /* there is none */
        { 254, 51, "no node in /dev" }, /* it is another's */
        { 8, 0, "no mount is to be seen" },
        { 254, 52, "no mount is to be seen" }, /* its line is not the kernel's */
    };

    (void)state;
    if (!make_scene())
        skip();
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(add(rows[i].major_number, rows[i].minor_number),
                         NACRE_ERR_UNAVAILABLE);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%u:%u: %s", rows[i].major_number, rows[i].minor_number, err.text);
        assert_int_equal(io.count, 0);
    }
}

static void only_what_has_the_scheduler_bfq_goes_by_weights(void **state)
{
    (void)state;
    if (!make_scene())
        skip();
    scene_shell("mkdir block/real/vda/queue block/real/vdd/queue && ln -s real/vda "
                "block/254:0");
    scene_file("block/real/vda/queue/scheduler", "mq-deadline [bfq] none\n");
    scene_file("block/real/vdd/queue/scheduler", "[mq-deadline] bfq none\n");
    assert_int_equal(add(254, 1), NACRE_OK);
    assert_int_equal(dk_io_weighs(&places, &io, &err), NACRE_OK);
    assert_int_equal(add(254, 48), NACRE_OK);
    assert_int_equal(dk_io_weighs(&places, &io, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "vdd' does not have the scheduler bfq"));
    scene_file("block/real/vdd/queue/scheduler", "none [bfq]\n");
    assert_int_equal(dk_io_weighs(&places, &io, &err), NACRE_OK);
    assert_int_equal(add(253, 0), NACRE_OK); /* of which there is no queue */
    assert_int_equal(dk_io_weighs(&places, &io, &err), NACRE_ERR_UNAVAILABLE);
}

/* Another kernel's, a directory that is not there, or one that it does not tell. */
static void an_engine_whose_files_are_not_seen_is_refused(void **state)
{
    static const struct {
        const char *info, *why;
    } rows[] = {
        { "{}", "'the engine' is not to be seen from here" },
        { "{\"DockerRootDir\": \"/nowhere/docker\"}",
          "'/nowhere/docker' is not to be seen from here" },
        { "{\"DockerRootDir\": \"/\", \"DriverStatus\": "
          "[[\"driver-type\", \"io.containerd.snapshotter.v1\"]]}",
          "'the engine' keeps its images where it does not say" },
    };
    static const struct nacre_container weighed = { .disk_io_weight = 5 };
    static const struct nacre_container bounded = { .disk_iops = 5 };
    static const struct nacre_container neither = { .disk_iops = 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(dk_json_guard) json_t *info = json_loads(rows[i].info, 0, NULL);
        const struct dk_site site = { .info = info, .is_cgroup2 = true };

        assert_int_equal(dk_io_find(&site, &bounded, NULL, 0, &io, &err),
                         NACRE_ERR_UNAVAILABLE);
        assert_string_equal(err.rule, "container.disk_iops");
        assert_non_null(strstr(err.text, rows[i].why));
        assert_int_equal(dk_io_find(&site, &weighed, NULL, 0, &io, &err),
                         NACRE_ERR_UNAVAILABLE);
        assert_string_equal(err.rule, "container.disk_io_weight");
        assert_true(err.fix[0]);
        assert_int_equal(dk_io_find(&site, &neither, NULL, 0, &io, &err), NACRE_OK);
        assert_int_equal(io.count, 0);
    }
}

static void more_disks_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    if (!make_scene())
        skip();
    io.count = DK_IO_DISKS_MAX;
    assert_int_equal(add(254, 48), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "one disk more than can be bounded"));
    assert_int_equal(io.count, DK_IO_DISKS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_disk_is_there_once_and_whole, scene_clear),
        cmocka_unit_test_setup(what_can_not_be_bounded_is_refused_with_its_reason,
                               scene_clear),
        cmocka_unit_test_setup(only_what_has_the_scheduler_bfq_goes_by_weights,
                               scene_clear),
        cmocka_unit_test(an_engine_whose_files_are_not_seen_is_refused),
        cmocka_unit_test_setup(more_disks_than_there_is_room_for_are_refused,
                               scene_clear),
    };

    return cmocka_run_group_tests_name("dk_io", tests, scene_enter, scene_leave);
}
