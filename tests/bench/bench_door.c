/*
 * bench_door PROGRAM COUNT: an HTTPS request by plain libcurl and the same through a
 * door, by turns, in the test network (tests/net/run): over a new connection each time,
 * and over one that is kept.  PROGRAM lies beside nacre-door.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "door_line.h"
#include "measure.h"
#include "nacre/clock.h"
#include "nacre/door.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

/* An answer after which the server closes: "HTTP/1.1 200 OK", Connection: close, "ok". */
#define CLOSED                                                                         \
    "https://four.example.com/raw?base64=SFRUUC8xLjEgMjAwIE9LDQpDb25uZWN0aW9uOiBjbG9z" \
    "ZQ0KQ29udGVudC1MZW5ndGg6IDINCg0Kb2s="
#define KEPT "https://four.example.com/"

static size_t drop(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    (void)data;
    return size * count;
}

static void by_curl(CURL *easy, const char *url)
{
    CURLcode failed;

    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed = curl_easy_perform(easy);
    if (failed)
        measure_die("libcurl: %s", curl_easy_strerror(failed));
}

static void curl_fresh(void *data)
{
    CURL *easy = curl_easy_init();

    (void)data;
    by_curl(easy, CLOSED);
    curl_easy_cleanup(easy);
}

/* libcurl keeps what it has read of the CA certificates, as the door does. */
static void curl_again(void *data)
{
    by_curl(data, CLOSED);
}

static void curl_kept(void *data)
{
    by_curl(data, KEPT);
}

static void by_door(int fd, const char *url)
{
    struct door_line_request request = { .method = "GET", .url = url, .headers = "",
                                         .body = "" };
    struct door_line_answer answer = { .body = NACRE_BUF(65536) };

    door_line_ask(fd, &request, &answer);
    if (answer.code != 0 || answer.status != 200)
        measure_die("the door: %s", answer.text);
    free(answer.text);
    nacre_buf_clear(&answer.body);
}

static void door_fresh(void *data)
{
    by_door(*(int *)data, CLOSED);
}

static void door_kept(void *data)
{
    by_door(*(int *)data, KEPT);
}

/* A guest's line to a door that lets it reach one host. */
static int open_line(const char *program, struct nacre_doors **ret_doors,
                     struct nacre_door **ret_door)
{
    static struct nacre_egress_host host;
    static struct nacre_plan plan;
    struct nacre_doors_options options = { .program = program };
    struct nacre_secret_set none = { 0 };
    struct nacre_request request = { .granted = &none };
    struct nacre_tool tool = { 0 };
    struct nacre_error err;
    int ends[2];

    plan.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST, .allowed = &host, .allowed_count = 1,
        .block_private = true, .scan = true, .patterns = 22, .way = NACRE_WAY_TUNNEL,
        .limits = { 65536, 1 << 20, 5, UINT32_MAX, 1000000, 64 },
    };
    if (nacre_egress_host_read("four.example.com", &host, &err) != NACRE_OK ||
        nacre_doors_new(&options, ret_doors, &err) != NACRE_OK ||
        nacre_doors_get(*ret_doors, &plan, &tool, &request, ret_door, &err) != NACRE_OK ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        nacre_door_serve(*ret_door, NACRE_DOOR_GUEST, ends[1], &err) != NACRE_OK ||
        nacre_door_begin(*ret_door, "00", nacre_clock_ns() + 600 * NACRE_NS_PER_S,
                         &err) != NACRE_OK)
        measure_die("no door: %s", err.text);
    return ends[0];
}

int main(int argc, char **argv)
{
    struct nacre_doors *doors;
    struct nacre_door *door;
    CURL *again, *asking, *kept;
    int line;

    if (argc != 3)
        measure_die("PROGRAM COUNT");
    line = open_line(argv[1], &doors, &door);
    (void)curl_global_init(CURL_GLOBAL_ALL);
    again = curl_easy_init();
    asking = curl_easy_init();
    (void)curl_easy_setopt(asking, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    kept = curl_easy_init();
    struct measure_variant variants[] = {
        { .row = "https.curl.new", .call = curl_fresh },
        { .row = "https.curl.asking", .call = curl_again, .data = asking },
        { .row = "https.curl.fresh", .call = curl_again, .data = again },
        { .row = "https.door.fresh", .call = door_fresh, .data = &line },
        { .row = "https.curl.kept", .call = curl_kept, .data = kept },
        { .row = "https.door.kept", .call = door_kept, .data = &line },
    };
    measure_by_turns(variants, sizeof(variants) / sizeof(variants[0]),
                     measure_count(argv[2]));
    curl_easy_cleanup(again);
    curl_easy_cleanup(asking);
    curl_easy_cleanup(kept);
    curl_global_cleanup();
    nacre_doors_put(doors, door);
    nacre_doors_free(doors);
    return 0;
}
