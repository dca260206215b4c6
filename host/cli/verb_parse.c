#include <string.h>

#include "document.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum { OPT_JSON5, OPT_YAML, OPT_PLACES, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_JSON5] = { "--json5", .kind = CLI_FLAG, .help = "read it as JSON5" },
    [OPT_YAML] = { "--yaml", .kind = CLI_FLAG, .help = "read it as YAML" },
    [OPT_PLACES] = { "--places", .kind = CLI_FLAG,
                     .help = "show LINE:COLUMN and kind of each value" },
};

/* The answer is JSON anyway; so --json says what is read, where nothing else does. */
static enum nacre_status choose(const struct cli_args *args,
                                enum nacre_document_format *ret_format,
                                struct nacre_error *err)
{
    bool json5 = args->values[OPT_JSON5].given, yaml = args->values[OPT_YAML].given;

    if (json5 && yaml)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--json5 and --yaml exclude each other: a document is one of "
                          "them");
    *ret_format = json5        ? NACRE_DOCUMENT_JSON5
                  : yaml       ? NACRE_DOCUMENT_YAML
                  : args->json ? NACRE_DOCUMENT_JSON
                               : NACRE_DOCUMENT_ANY;
    return NACRE_OK;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    const char *path = args->operand_count > 0 ? args->operands[0] : "-";
    enum nacre_document_format format = NACRE_DOCUMENT_ANY;
    struct nacre_error err;
    json_t *value = NULL;
    enum nacre_status status = choose(args, &format, &err);

    if (status == NACRE_OK)
        status = cli_document_read(path, &buf, &err);
    if (status == NACRE_OK)
        status = nacre_document_json(strcmp(path, "-") == 0 ? "stdin" : path,
                                     buf.bytes ? buf.bytes : "", buf.size, format,
                                     args->values[OPT_PLACES].given, &value, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    return cli_json_print(value) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
}

const struct cli_verb cli_verb_parse = {
    .name = "parse",
    .summary = "show what nacre reads in a JSON5, YAML or JSON document",
    .operands = "[FILE|-]",
    .about =
        "Prints the document as JSON. Without an option the content decides: what\n"
        "begins with '{' is JSON5, everything else YAML. With --json alone it must be\n"
        "JSON to the letter (RFC 8259); together with --json5 or --yaml it is as\n"
        "everywhere. At most 1 MiB, 32 levels and 10,000 keys and values; a key given\n"
        "twice is an error, and so is what JSON can't say (NaN, a whole number of more\n"
        "than 64 bits), unless --places shows it as it was read.",
    .example = "  nacre parse --json5 openclaw.json\n"
               "  nacre parse --yaml --places policy.yaml",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_max = 1,
    .run = run,
};
