#ifndef NACRE_BOXES_H
#define NACRE_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/plan.h"

struct nacre_executor;

/*
 * Sandboxes that are kept warm, for who owns the container executor: the keeper, or an
 * embedder that is its own.
 */
struct nacre_box_info {
    char id[16];   /* the container's, as an engine abbreviates it */
    char name[64];
    char scope_key[256];
    char image[256];
    char digest[NACRE_HEX]; /* of what it is made of */
    uint64_t created_ms, used_ms; /* since 1970 */
    uint32_t commands; /* that run in it now: it lives; 0 when another process knows */
    int32_t owner_pid; /* of the process that it lives and dies with; 1: not known */
};

/* Calls `each` with every one, until it returns false. */
void nacre_container_boxes_list(struct nacre_executor *executor,
                                bool (*each)(void *data,
                                             const struct nacre_box_info *info),
                                void *data);

/* The same of every owner of the executor's state directory that lives, as the labels of
 * the engine's containers have them; each's owner_pid is 1. */
NACRE_MUST_CHECK enum nacre_status nacre_container_boxes_labelled(
    struct nacre_executor *executor,
    bool (*each)(void *data, const struct nacre_box_info *info), void *data,
    struct nacre_error *err);

/* End those that `wanted` picks.  A live one is left, unless `force`: then its commands
 * end with it.  Returns how many. */
uint32_t nacre_container_boxes_end(struct nacre_executor *executor, bool force,
                                   bool (*wanted)(void *data,
                                                  const struct nacre_box_info *info),
                                   void *data);

/*
 * What the registry in `state_dir` says, for who has no executor: the boxes of every
 * owner that lives.  Needs no engine.  Nothing is there: no call, NACRE_OK.  Where it is
 * broken, NACRE_ERR_PARSE, or lost while an owner lives, NACRE_ERR_NOT_FOUND, ask the
 * engine: nacre_container_boxes_labelled().
 */
NACRE_MUST_CHECK enum nacre_status
nacre_boxes_read(const char *state_dir,
                 bool (*each)(void *data, const struct nacre_box_info *info), void *data,
                 struct nacre_error *err);

/* The images that nacre makes: what `nacre image build` calls each, its name unless
 * another is given, and what it is. */
#define NACRE_IMAGE_MAP(X)                                                  \
    X(SANDBOX, "sandbox", NACRE_DEFAULT_IMAGE, "what commands run in")      \
    X(VM, "vm", NACRE_VM_IMAGE, "QEMU and a kernel, for level vm")          \
    X(BROWSER, "browser", NACRE_BROWSER_IMAGE, "Chromium, with noVNC")
enum nacre_image {
#define X(id, word, tag, about) NACRE_IMAGE_##id,
    NACRE_IMAGE_MAP(X)
#undef X
    NACRE_IMAGE_COUNT
};

/*
 * Makes an image and gives it the name `tag` ("name:tag"; NULL: its default name): from a
 * Dockerfile where the engine reaches a registry, else by mmdebstrap on
 * this machine.  `said` hears what goes on, escaped; may be NULL.  Takes minutes.
 * NACRE_ERR_UNAVAILABLE says why neither way works.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_container_image_build(struct nacre_executor *executor, enum nacre_image image,
                            const char *tag,
                            void (*said)(void *data, const char *text), void *data,
                            struct nacre_error *err);

#endif
