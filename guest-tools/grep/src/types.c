#include "types.h"

#include <string.h>

static const struct {
    const char *name, *glob;
} types[] = {
    { "c", "*.[ch]" },
    { "cmake", "{*.cmake,CMakeLists.txt}" },
    { "cpp", "*.{cc,cpp,cxx,c++,h,hh,hpp,hxx,h++,inl}" },
    { "cs", "*.cs" },
    { "css", "*.{css,scss,sass,less}" },
    { "go", "*.go" },
    { "html", "*.{html,htm,xhtml}" },
    { "java", "*.java" },
    { "js", "*.{js,jsx,mjs,cjs,vue}" },
    { "json", "*.{json,jsonc,json5}" },
    { "kotlin", "*.{kt,kts}" },
    { "lua", "*.lua" },
    { "make", "{Makefile,makefile,GNUmakefile,*.mk}" },
    { "md", "*.{md,markdown,mdx}" },
    { "php", "*.php" },
    { "py", "*.{py,pyi}" },
    { "rb", "{*.rb,Gemfile,Rakefile,*.gemspec}" },
    { "rust", "*.rs" },
    { "sh", "*.{sh,bash,zsh,ksh}" },
    { "sql", "*.sql" },
    { "swift", "*.swift" },
    { "toml", "{*.toml,Cargo.lock}" },
    { "ts", "*.{ts,tsx,mts,cts}" },
    { "txt", "*.txt" },
    { "xml", "*.{xml,xsd,xsl,svg}" },
    { "yaml", "*.{yaml,yml}" },
    { "zig", "*.zig" },
};

void types_add(struct choice *choice, const char *type)
{
    struct nacre_text known = { 0 };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, type) == 0) {
            choice_add_glob(choice, types[i].glob, strlen(types[i].glob));
            return;
        }
        nacre_text_addf(&known, " %s", types[i].name);
    }
    nacre_tool_fail("bad-argument", "type %.40s is not known; these are:%s. Use glob for "
                    "others", type, known.bytes);
}
