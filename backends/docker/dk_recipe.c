#include "dk_recipe.h"

#include <assert.h>
#include <stddef.h>

#include "nacre/browser.h"

/*
 * The kernel is unpacked, not installed: installing it makes an initial file system that
 * nobody boots.  Beside it lies what is in its packed form (where Linux's boot protocol
 * says), which a machine that is emulated needs seconds for.  Of its modules those stay
 * that init loads, with what they need before them, as an archive that is laid after
 * init's own.  The cloud kernel has no 9p.
 */
#define MACHINE_SCRIPT                                                                 \
    "cd /tmp; "                                                                        \
    "apt-get download $(apt-cache depends linux-image-amd64 |"                         \
    " sed -n \"s/^ *Depends: //p\" | head -n 1); "                                     \
    "dpkg-deb -x linux-image-*.deb k; rm linux-image-*.deb; "                          \
    "f=$(echo k/boot/vmlinuz-*); n() { od -An -tu$2 -j$1 -N$2 $f; }; "                 \
    "tail -c +$((($(n 497 1) + 1) * 512 + $(n 584 4) + 1)) $f |"                       \
    " head -c $(($(n 588 4))) | xz -dc --single-stream >" DK_MACHINE_KERNEL_UNPACKED   \
    "; test -s " DK_MACHINE_KERNEL_UNPACKED "; mv $f " DK_MACHINE_KERNEL "; "          \
    "v=$(ls k/lib/modules); "                                                          \
    "depmod -b k $v; mkdir -p m/modules; "                                             \
    "for n in virtio_mmio virtio_console virtio_blk 9p 9pnet_virtio squashfs overlay; " \
    "do modprobe -d k -S $v --show-depends $n; done |"                                 \
    " sed -n \"s/^insmod //p\" | awk \"!s[\\$1]++ {print \\$1}\" >l; test -s l; "      \
    "while read f; do cp $f m/modules/; basename $f >>m/modules/list; done <l; "       \
    "cd m; find modules | cpio -o -H newc >" DK_MACHINE_MODULES "; cd ..; rm -r k m l"

/*
 * What starts the browser: "headless", "screen" (a window that nobody sees) or "novnc"
 * (one that port 6080 shows); port 9222 is CDP's.  Never --no-sandbox.  Names of the
 * loopback take the proxy too, or a page could reach these ports itself.  Of all that is
 * said the beginning is kept, so that it never reaches the limit of a command's output.
 */
#define LINE(text) " \"" text "\""
#define BROWSER_START                                                                  \
    LINE("#!/bin/sh -e")                                                               \
    LINE("export HOME=/tmp/nacre-browser; unset DISPLAY")                              \
    LINE("rm -rf \\$HOME /tmp/.X*; mkdir -m 700 \\$HOME")                              \
    LINE("case \\$1 in")                                                               \
    LINE("headless) how=--headless=new;;")                                             \
    LINE("screen | novnc) how=--window-size=1280,800 DISPLAY=:1;;")                    \
    LINE("*) echo expected headless, screen or novnc >&2; exit 2;;")                   \
    LINE("esac")                                                                       \
    LINE("{ if [ \\$DISPLAY ]; then")                                                 \
    LINE("export DISPLAY; mkdir -m 1777 /tmp/.X11-unix")                              \
    LINE("Xvfb :1 -screen 0 1280x800x24 -nolisten tcp -extension GLX & x=\\$!")        \
    LINE("until [ -S /tmp/.X11-unix/X1 ]; do kill -0 \\$x; sleep .05; done")           \
    LINE("fi")                                                                         \
    LINE("if [ \\$1 = novnc ]; then")                                                  \
    LINE("x11vnc -localhost -rfbport 5900 -forever -shared -nopw -quiet &")            \
    LINE("x=\\\"\\$x \\$!\\\"")                                                        \
    LINE("python3 -W ignore -m websockify --web /usr/share/novnc 127.0.0.1:6080"       \
         " 127.0.0.1:5900 &")                                                          \
    LINE("x=\\\"\\$x \\$!\\\"")                                                        \
    LINE("fi")                                                                         \
    LINE("/usr/lib/chromium/chromium \\$how --user-data-dir=\\$HOME --disable-gpu"       \
         " --remote-debugging-port=9222 --no-first-run --no-default-browser-check"     \
         " --disable-dev-shm-usage --disable-breakpad --disable-background-networking" \
         " --disable-component-update --disable-sync --disable-default-apps"           \
         " --metrics-recording-only --proxy-server=http://127.0.0.1:3128"              \
         " \\\"--proxy-bypass-list=<-loopback>\\\" about:blank &&")                      \
    LINE("touch \\$HOME/ended || echo chromium left with \\$?")                        \
    LINE("[ -z \\\"\\$x\\\" ] || kill \\$x; } 2>&1 |"                                  \
         " { head -c 65536; cat >/dev/null; }")                                        \
    LINE("[ -e \\$HOME/ended ]")

/*
 * The door judges a connection by the name in its hello, and so refuses one that hides it:
 * Chromium shall not pretend to.  Nor does it look for names or for news by itself.
 */
#define BROWSER_RULES                                                                  \
    LINE("{\\\"EncryptedClientHelloEnabled\\\": false,"                                \
         " \\\"DnsOverHttpsMode\\\": \\\"off\\\","                                     \
         " \\\"ComponentUpdatesEnabled\\\": false,"                                    \
         " \\\"WebRtcIPHandling\\\": \\\"disable_non_proxied_udp\\\","                \
         " \\\"MetricsReportingEnabled\\\": false}")

/*
 * noVNC and websockify are unpacked, not installed: they would bring Node.js and NumPy,
 * which nothing here uses.  Without a GPU nobody loads Mesa's drivers nor LLVM, which is
 * larger than all of Xvfb.
 */
#define BROWSER_PACKAGES \
    "ca-certificates chromium fonts-dejavu-core python3 x11vnc xvfb"

#define BROWSER_SCRIPT                                                                 \
    "cd /tmp; apt-get download novnc python3-websockify; "                             \
    "for f in *.deb; do dpkg-deb -x $f /; rm $f; done; "                               \
    "cd /usr/lib/*-linux-gnu; rm -rf dri libLLVM* libz3.so* perl; cd /usr/share; "     \
    "rm -rf doc icons locale man perl; cd ..; rm -f lib/chromium/libVkLayer*; "        \
    "printf \"%s\\n\"" BROWSER_START " >local/bin/nacre-browser; "                     \
    "chmod 755 local/bin/nacre-browser; cd /etc; mkdir -p chromium/policies/managed; " \
    "printf \"%s\\n\"" BROWSER_RULES " >chromium/policies/managed/nacre.json"

const struct dk_recipe *dk_recipe(enum nacre_image image)
{
    static const struct dk_recipe recipes[NACRE_IMAGE_COUNT] = {
        [NACRE_IMAGE_SANDBOX] = { NACRE_DEFAULT_IMAGE,
                                  "bash ca-certificates curl git jq python3 ripgrep",
                                  NULL },
        [NACRE_IMAGE_VM] = { NACRE_VM_IMAGE,
                             "cpio kmod qemu-system-x86 squashfs-tools xz-utils",
                             MACHINE_SCRIPT },
        [NACRE_IMAGE_BROWSER] = { NACRE_BROWSER_IMAGE,
                                  BROWSER_PACKAGES, BROWSER_SCRIPT },
    };

    assert(image < NACRE_IMAGE_COUNT);
    return &recipes[image];
}
