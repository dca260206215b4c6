#ifndef DK_SANDBOX_IMAGE_H
#define DK_SANDBOX_IMAGE_H

#include "dk_api.h"
#include "dk_recipe.h"

/* What an image under way is called, until it gets its name. */
#define DK_SANDBOX_PULLED "nacre-building:base"
#define DK_SANDBOX_MADE_NAME "nacre-building"
#define DK_SANDBOX_MADE_TAG "root"

/* As nacre_container_image_build() has it; the function of `progress` may be NULL. */
NACRE_MUST_CHECK enum nacre_status dk_sandbox_image(struct dk_client *client,
                                                    const struct dk_recipe *recipe,
                                                    const char *name,
                                                    const struct dk_progress *progress,
                                                    struct nacre_error *err);

#endif
