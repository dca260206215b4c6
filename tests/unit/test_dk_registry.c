/* The registry of boxes when it is lost: two owners, and an engine that lists their
 * containers, or does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dk_registry.h"
#include "engine_scene.h"

#define FILE_PATH "state/boxes/registry.json"

static struct dk_site first, second;
static char listed[2048];
static struct fake_rule rules[] = {
    FAKE_VERSION, { .method = "GET", .path = "/containers/json", .body = listed },
    FAKE_END,
};

static const struct nacre_box_info boxes[] = {
    { .id = "0123456789ab", .name = "box-one", .scope_key = "session:one", .image = "i",
      .digest = "d", .created_ms = 5, .used_ms = 6, .owner_pid = 77 },
    { .id = "0123456789cd", .name = "box-two", .scope_key = "session:two", .image = "i",
      .digest = "d", .created_ms = 5, .used_ms = 6, .owner_pid = 78 },
};

/* What an engine says of the second owner's. */
static void list_second(void)
{
    (void)snprintf(listed, sizeof(listed),
                   "[{\"Id\":\"" FAKE_ID "\",\"Names\":[\"/box-two\"],\"Labels\":"
                   "{\"nacre.keeper\":\"%s\",\"nacre.scope\":\"session:two\","
                   "\"nacre.image\":\"i\",\"nacre.config\":\"d\","
                   "\"nacre.created\":\"5\"}}]", dk_owner_token(second.owner));
}

static int enter(void **state)
{
    struct nacre_error err;

    if (engine_setup(state) != 0 || mkdir("state", 0700) != 0)
        return -1;
    (void)snprintf(listed, sizeof(listed), "[]");
    rules[1] = (struct fake_rule){ .method = "GET", .path = "/containers/json",
                                   .body = listed };
    first = (struct dk_site){ .client = opened(rules) };
    second = (struct dk_site){ .client = first.client };
    if (dk_owner_open("state", &first.owner, &err) != NACRE_OK ||
        dk_owner_open("state", &second.owner, &err) != NACRE_OK ||
        dk_registry_write(&second, &boxes[1], 1, &err) != NACRE_OK ||
        dk_registry_write(&first, &boxes[0], 1, &err) != NACRE_OK)
        return -1;
    list_second();
    return 0;
}

static int leave(void **state)
{
    dk_owner_free(first.owner);
    dk_owner_free(second.owner);
    dk_client_free(first.client);
    return engine_teardown(state);
}

/* Their names, in the order of the file. */
struct told {
    char names[256];
};

static bool tell(void *data, const struct nacre_box_info *info)
{
    struct told *told = data;
    size_t used = strlen(told->names);

    (void)snprintf(told->names + used, sizeof(told->names) - used, "%s%s ", info->name,
                   info->owner_pid == 1 ? "?" : "");
    return true;
}

static enum nacre_status read_all(struct told *told)
{
    struct nacre_error err;

    told->names[0] = '\0';
    return nacre_boxes_read("state", tell, told, &err);
}

/* NULL: it is not there. */
static const char *const losses[] = { NULL, "", "{", "[]", "{\"boxes\":{}}",
                                      "{\"boxes\":[{\"id\":\"x\"}]}" };

static void lose(const char *text)
{
    (void)unlink(FILE_PATH);
    if (text)
        scene_file(FILE_PATH, text);
}

static void what_is_lost_is_told_and_found_by_the_labels(void **state)
{
    struct nacre_error err;
    struct told told;

    (void)state;
    assert_int_equal(read_all(&told), NACRE_OK);
    assert_string_equal(told.names, "box-two box-one ");
    for (size_t i = 0; i < NACRE_COUNT(losses); i++) {
        lose(losses[i]);
        assert_int_equal(read_all(&told),
                         losses[i] ? NACRE_ERR_PARSE : NACRE_ERR_NOT_FOUND);
        assert_string_equal(told.names, "");
        assert_int_equal(dk_registry_labelled(&first, tell, &told, &err), NACRE_OK);
        assert_string_equal(told.names, "box-two? ");
    }
}

static void the_next_writer_keeps_the_other_owners(void **state)
{
    struct nacre_error err;
    struct told told;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(losses); i++) {
        lose(losses[i]);
        assert_int_equal(dk_registry_write(&first, &boxes[0], 1, &err), NACRE_OK);
        assert_int_equal(read_all(&told), NACRE_OK);
        assert_string_equal(told.names, "box-two? box-one ");
    }
}

/* A file without the other's would look whole. */
static void a_listing_that_fails_drops_nobody(void **state)
{
    static const struct fake_rule failing[] = {
        { .path = "/containers/json", .status = 500, .body = "{\"message\":\"no\"}" },
        { .path = "/containers/json", .deed = FAKE_CLOSE },
        { .path = "/containers/json", .deed = FAKE_HANG },
        { .path = "/containers/json", .body = "{}" },
    };
    struct nacre_error err;
    struct told told;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(failing); i++)
        for (size_t k = 0; k < 3; k++) {
            lose(losses[k]);
            rules[1] = failing[i];
            first.engine_ms_max = failing[i].deed == FAKE_HANG ? 200 : 0;
            assert_int_not_equal(dk_registry_write(&first, &boxes[0], 1, &err), NACRE_OK);
            assert_int_not_equal(read_all(&told), NACRE_OK);
            rules[1] = (struct fake_rule){ .method = "GET", .path = "/containers/json",
                                           .body = listed };
            first.engine_ms_max = 0;
            assert_int_equal(dk_registry_write(&first, &boxes[0], 1, &err), NACRE_OK);
            assert_int_equal(read_all(&told), NACRE_OK);
            assert_string_equal(told.names, "box-two? box-one ");
        }
}

/* An owner that is alone asks nobody: there is nobody else's to lose. */
static void the_only_owner_needs_no_listing(void **state)
{
    struct nacre_error err;
    struct told told;
    size_t asked;

    (void)state;
    dk_owner_free(second.owner);
    second.owner = NULL;
    asked = fake_engine_asked(engine);
    for (size_t i = 0; i < NACRE_COUNT(losses); i++) {
        lose(losses[i]);
        assert_int_equal(dk_registry_write(&first, &boxes[0], 1, &err), NACRE_OK);
        assert_int_equal(read_all(&told), NACRE_OK);
        assert_string_equal(told.names, "box-one ");
    }
    assert_int_equal(fake_engine_asked(engine), asked);
    dk_owner_free(first.owner);
    first.owner = NULL;
    lose(NULL);
    assert_int_equal(read_all(&told), NACRE_OK); /* nobody lives: nothing is warm */
    assert_string_equal(told.names, "");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        EACH(what_is_lost_is_told_and_found_by_the_labels),
        EACH(the_next_writer_keeps_the_other_owners),
        EACH(a_listing_that_fails_drops_nobody),
        EACH(the_only_owner_needs_no_listing),
    };

    return cmocka_run_group_tests_name("dk_registry", tests, scene_enter, scene_leave);
}
