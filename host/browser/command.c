#include "nacre/browser.h"
#include "nacre/tool.h"

/* A script of the image's, see `nacre image build browser`. */
#define SCRIPT "/usr/local/bin/nacre-browser"

enum nacre_status nacre_browser_command(bool headless, bool no_vnc,
                                        struct nacre_tool **ret_tool,
                                        struct nacre_error *err)
{
    const char *const argv[] = { SCRIPT,
                                 headless ? "headless"
                                 : no_vnc ? "novnc"
                                          : "screen",
                                 NULL };

    return nacre_tool_command(argv, ret_tool, err);
}
