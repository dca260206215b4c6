/*
 * The table of what keys and tokens look like.  An example is written in two pieces, so
 * that neither this file nor what is made of it is itself a finding.
 *
 * Of an expression nothing is asked that needs going back: its loops are possessive or
 * of fixed length.
 */
#include "leak_patterns.h"

#define ROWS(...) (const char *const[]){ __VA_ARGS__, NULL }

/* Not in the middle of a word; %3D and \n before it are no part of one. */
#define EDGE "(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\\\[nrt]))"
#define ALNUM "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* A blank, and an end of a line, also where the text stands in JSON, in a URL or between
 * the quotes of a program. */
#define GAP "(?: |\\+|%20)"
#define BREAK "(?:\\s|\\\\[nr]|%0[AaDd]|[\"',+|>#*\\\\])++"
/* A head alone is an example in somebody's text; the body's first line makes a key, also
 * with the escapes that a form and some writers of JSON have for its '+' and '/'. */
#define BODY                                                    \
    BREAK "(?:[A-Z][A-Za-z-]{1,31}: [^\\r\\n\\\\]{0,256}+" BREAK \
          ")*+(?:[A-Za-z0-9+/]|\\\\/|%2[BbFf]){40}"

const struct leak_pattern leak_patterns[NACRE_LEAK_PATTERNS] = {
    { .row = { "pem-private-key", NACRE_LEAK_BLOCK,
               ROWS("-----BEGIN PRIVATE" " KEY-----\n"
                    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\n"
                    "-----END PRIVATE KEY-----",
                    "-----BEGIN RSA PRIVATE" " KEY-----\\n"
                    "MIIEpAIBAAKCAQEA7bq3Nc0yqTgkJv8dJ1ZpWm5Rk2Xc\\n",
                    "-----BEGIN EC PRIVATE" " KEY-----\r\nProc-Type: 4,ENCRYPTED\r\n"
                    "DEK-Info: AES-128-CBC,00\r\n\r\n"
                    "MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6\r\n",
                    "key=-----BEGIN+RSA+PRIVATE" "+KEY-----%0A"
                    "MIIEpAIBAAKCAQEA7bq3Nc0%2FTgkJv8%2bJ1ZpWm5Rk2XcQ%0A",
                    "-----BEGIN RSA PRIVATE" " KEY-----\\n"
                    "MIIEpAIBAAKCAQEA7bq3Nc0\\/TgkJv8dJ1ZpWm5Rk2XcQ\\n"),
               ROWS("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n",
                    "grep -e '-----BEGIN PRIVATE KEY-----' *.pem",
                    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
                    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n") },
      .regex = "-----BEGIN" GAP "(?!OPENSSH|PGP)(?:[A-Z0-9]{1,16}" GAP
               "){0,3}PRIVATE" GAP "KEY-----" BODY,
      .starts = ROWS("-----BEGIN"), .is_key = true },
    { .row = { "openssh-private-key", NACRE_LEAK_BLOCK,
               ROWS("-----BEGIN OPENSSH PRIVATE" " KEY-----\n"
                    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAA\n"
                    "-----END OPENSSH PRIVATE KEY-----"),
               ROWS("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGl0IGlzIG9ubHkgYSB0ZXN0",
                    "\"-----BEGIN OPENSSH PRIVATE KEY-----\" is its first line") },
      .regex = "-----BEGIN" GAP "OPENSSH" GAP "PRIVATE" GAP "KEY-----" BODY,
      .starts = ROWS("-----BEGIN"), .is_key = true },
    { .row = { "pgp-private-key", NACRE_LEAK_BLOCK,
               ROWS("-----BEGIN PGP PRIVATE" " KEY BLOCK-----\nVersion: GnuPG v2\n\n"
                    "lQOYBFnTQbABCADYZbYv2aNNX7qVx2bGvDPRxW8qLrTn\n"
                    "-----END PGP PRIVATE KEY BLOCK-----"),
               ROWS("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBFnTQbABCADYZbYv2a\n",
                    "-----BEGIN PGP MESSAGE-----\n\nhQEMA5vJEHlLvb5oAQf9Ge\n") },
      .regex = "-----BEGIN" GAP "PGP" GAP "PRIVATE" GAP "KEY" GAP "BLOCK-----" BODY,
      .starts = ROWS("-----BEGIN"), .is_key = true },
    { .row = { "anthropic-api-key", NACRE_LEAK_REDACT,
               ROWS("sk-ant-" "api03-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np7Lb9Vx",
                    "sk-ant-" "admin01-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np"),
               ROWS("sk-ant-api03-...", "sk-ant-api03-YOUR-KEY", "the prefix sk-ant-") },
      .regex = "sk-ant-(?:api|admin|sid)[0-9]{2}-[A-Za-z0-9_-]{32,512}+",
      .starts = ROWS("sk-ant-a", "sk-ant-s") },
    { .row = { "anthropic-oauth-token", NACRE_LEAK_REDACT,
               ROWS("sk-ant-" "oat01-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np7Lb9Vx",
                    "sk-ant-" "ort01-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np7Lb9"),
               ROWS("sk-ant-oat01-...", "sk-ant-oauth") },
      .regex = "sk-ant-o(?:at|rt)[0-9]{2}-[A-Za-z0-9_-]{32,512}+",
      .starts = ROWS("sk-ant-o") },
    { .row = { "openai-key", NACRE_LEAK_REDACT,
               ROWS("sk-" "Xk2pQ9vLr7TnB4wZs8YdT3BlbkFJ1Hf6Jc3Gm0Ea5UiOqRt2",
                    "sk-" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiOqRt2Np7Lb9Vx",
                    "sk-" "proj-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np7Lb9Vx",
                    "sk-" "svcacct-Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5Ui_Oq-Rt2Np7"),
               ROWS("sk-learn", "risk-Xk2pQ9vLr7TnB4wZs8YdT3BlbkFJ1Hf6Jc3Gm0Ea5UiOqRt2",
                    "sk-proj-short", "disk-by-id-and-other-names-that-go-on-for-long",
                    "sk-0123456789abcdef") },
      .regex = EDGE "sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32,512}+|"
                    "[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|"
                    "[A-Za-z0-9]{48}(?![A-Za-z0-9_-]))",
      .starts = ROWS("sk-"), .next = ALNUM },
    { .row = { "openrouter-key", NACRE_LEAK_REDACT,
               ROWS("sk-or-" "v1-0123456789abcdef0123456789abcdef"
                    "0123456789abcdef0123456789abcdef"),
               ROWS("sk-or-v1-...", "sk-or-v1-0123456789abcdef", "task-or-v1-x") },
      .regex = "sk-or-v[0-9]-[0-9a-f]{64}", .starts = ROWS("sk-or-v") },
    { .row = { "groq-key", NACRE_LEAK_REDACT,
               ROWS("gsk_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiOqRt2Np7Lb9Vx4SwA"),
               ROWS("gsk_buffer_init", "gsk_0123456789", "gsk_render_node_draw") },
      .regex = "gsk_[A-Za-z0-9]{52}", .starts = ROWS("gsk_") },
    { .row = { "huggingface-token", NACRE_LEAK_REDACT,
               ROWS("hf_" "XkpQvLrTnBwZsYdHfJcGmEaUiOqRtNpLbV",
                    "HF_TOKEN=hf_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5U"),
               ROWS("hf_hub_download", "hf_", "half_XkpQvLrTnBwZsYdHfJcGmEaUiOqRtNpLbV",
                    "hf_a_name_of_a_variable_that_is_very_long") },
      .regex = EDGE "hf_[A-Za-z0-9]{34,40}+(?![A-Za-z0-9_])",
      .starts = ROWS("hf_"), .next = ALNUM },
    { .row = { "google-api-key", NACRE_LEAK_REDACT,
               ROWS("AIza" "SyXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5",
                    "key=AIza" "SyXk2pQ9vLr7TnB4wZs8Yd1Hf-_c3Gm0Ea5&x=1"),
               ROWS("AIza", "AIzaShort", "mAIzaSyXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5",
                    "AIzaSyXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5andmore") },
      .regex = EDGE "AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", .starts = ROWS("AIza") },
    { .row = { "aws-access-key-id", NACRE_LEAK_REDACT,
               ROWS("AKIA" "Z7QXN2PLM5RTWB4K",
                    "AWS_ACCESS_KEY_ID=ASIA" "Z7QXN2PLM5RTWB4K"),
               ROWS("AKIAIOSFODNN7EXAMPLE", "AKIA", "AKIAlowercaseletters",
                    "AKIAZ7QXN2PLM5RTWB4KANDMORE") },
      .regex = "(?:AKIA|ASIA|ABIA|ACCA)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}(?![A-Za-z0-9])",
      .starts = ROWS("AKIA", "ASIA", "ABIA", "ACCA") },
    { .row = { "github-token", NACRE_LEAK_REDACT,
               ROWS("ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO",
                    "https://x:gho_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO@github.com",
                    "ghs_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO"),
               ROWS("ghp_", "ghp_xxxx", "ghx_Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO",
                    "ghp_a_name_with_underscores_that_is_long_enough") },
      .regex = "gh[pousr]_[A-Za-z0-9]{36,255}+",
      .starts = ROWS("ghp_", "gho_", "ghu_", "ghs_", "ghr_") },
    { .row = { "github-fine-grained-pat", NACRE_LEAK_REDACT,
               ROWS("github_pat_" "11ABCDEFG0Xk2pQ9vLr7Tn_B4wZs8Yd1Hf6Jc3Gm0Ea5UiOqRt2Np7"
                    "Lb9Vx4SwAk2pQ9vLr7TnB4wZs8Yd1"),
               ROWS("github_pat_", "github_pat_11ABCDEFG0", "github.com/pat") },
      .regex = "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
      .starts = ROWS("github_pat_") },
    { .row = { "gitlab-token", NACRE_LEAK_REDACT,
               ROWS("glpat-" "Xk2pQ9vLr7TnB4wZs8Yd", "gldt-" "Xk2pQ9vLr7TnB4wZs8Yd",
                    "glpat-" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3.01.0a1b2c3d4"),
               ROWS("glpat-", "glpat-xxxx", "glide-over-the-water-and-beyond") },
      .regex = "gl(?:pat|dt|rt|ptt|ft|oas|imt|agent|soat|cbt)-"
               "[A-Za-z0-9_=-]{20,300}+(?:\\.[0-9a-z]{2}\\.[0-9a-z]{7,9}+)?",
      .starts = ROWS("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "gloas-", "glimt-",
                     "glagent-", "glsoat-", "glcbt-") },
    { .row = { "slack-token", NACRE_LEAK_REDACT,
               ROWS("xoxb-" "123456789012-123456789012-Xk2pQ9vLr7TnB4wZs8Yd1Hf6",
                    "xoxp-" "123456789012-123456789012-Xk2pQ9vLr7Tn",
                    "xapp-" "1-A0123ABCD-123456789012-0123456789abcdef0123456789abcdef"),
               ROWS("xoxb-", "xoxb-your-token-here-please", "xoxo-123456789012-abcdef",
                    "xapp-name") },
      .regex = "(?:xox[abeprs]-(?=[A-Za-z-]{0,64}+[0-9])[A-Za-z0-9-]{16,512}+|"
               "xapp-[0-9]-[A-Z0-9]{8,32}+-[0-9]{8,20}+-[0-9a-f]{32,128}+)",
      .starts = ROWS("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-") },
    { .row = { "stripe-key", NACRE_LEAK_REDACT,
               ROWS("sk_" "live_Xk2pQ9vLr7TnB4wZs8Yd1Hf6",
                    "rk_" "live_Xk2pQ9vLr7TnB4wZs8Yd",
                    "sk_" "test_Xk2pQ9vLr7TnB4wZs8Yd1Hf6"),
               ROWS("sk_live_", "sk_test_xxx", "pk_live_Xk2pQ9vLr7TnB4wZs8Yd1Hf6",
                    "sk_test_case_with_a_long_name_of_words",
                    "task_test_Xk2pQ9vLr7TnB4wZs8Yd1Hf6") },
      .regex = EDGE "[sr]k_(?:live|test)_[A-Za-z0-9]{20,255}+",
      .starts = ROWS("sk_live_", "sk_test_", "rk_live_", "rk_test_") },
    { .row = { "twilio-key", NACRE_LEAK_REDACT,
               ROWS("SK" "0123456789abcdef0123456789abcdef"),
               ROWS("SK0123456789abcdef", "DISK0123456789abcdef0123456789abcdef",
                    "SK0123456789abcdef0123456789abcdef0123", "SKIP") },
      .regex = EDGE "SK[0-9a-f]{32}(?![A-Za-z0-9_])",
      .starts = ROWS("SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9",
                     "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"),
      .next = "0123456789abcdef" },
    { .row = { "sendgrid-key", NACRE_LEAK_REDACT,
               ROWS("SG." "Xk2pQ9vLr7TnB4wZs8Yd1H."
                    "f6Jc3Gm0Ea5UiOqRt2Np7Lb9Vx4SwAk2pQ9vLr7TnB4"),
               ROWS("SG.short.key", "MSG.Xk2pQ9vLr7TnB4wZs8Yd1H.f6Jc3Gm0Ea5UiOqRt2N",
                    "SG.Xk2pQ9vLr7TnB4wZs8Yd1H") },
      .regex = EDGE "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}",
      .starts = ROWS("SG."), .next = ALNUM "_-" },
    /* The number before the colon is the bot's public name, and stays. */
    { .row = { "telegram-bot-token", NACRE_LEAK_REDACT,
               ROWS("1234567890:" "AAXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5",
                    "bot12345678:" "AAXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc-_m0Ea5/getMe"),
               ROWS("1234:AAXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5", "12345678:AAshort",
                    "x:AAXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5",
                    "12345678:AAXk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5andmore") },
      .regex = "(?<=[0-9]{8}):AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
      .starts = ROWS(":AA"), .next = ALNUM "_-" },
    { .row = { "npm-token", NACRE_LEAK_REDACT,
               ROWS("npm_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO",
                    "//registry.npmjs.org/:_authToken=npm_"
                    "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO"),
               ROWS("npm_config_registry", "npm_package_json",
                    "npm_Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiOmore") },
      .regex = "npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])", .starts = ROWS("npm_") },
    { .row = { "jwt", NACRE_LEAK_WARN,
               ROWS("eyJ" "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."
                    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"),
               ROWS("eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0",
                    "eyJhbGciOiJIUzI1NiJ9.no.payload",
                    "keyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5") },
      .regex = EDGE "eyJ[A-Za-z0-9_-]{8,2048}+\\.eyJ[A-Za-z0-9_-]{8,16384}+\\."
                    "[A-Za-z0-9_-]{16,2048}+",
      .starts = ROWS("eyJ"), .next = ALNUM "_-" },
    { .row = { "authorization-header", NACRE_LEAK_WARN,
               ROWS("Authorization: Bearer " "Xk2pQ9vLr7TnB4wZ",
                    "authorization: basic " "dXNlcjpwYXNzd29yZA==",
                    "\"AUTHORIZATION\": \"Token " "Xk2pQ9vLr7TnB4wZ\""),
               ROWS("Authorization: Bearer <token>", "Authorization: Bearer $TOKEN",
                    "Authorization: Bearer [redacted:NAME]",
                    "authorization is needed", "Authorization: none",
                    "Proxy-Authenticate: Basic realm=proxy") },
      .regex = "(?i)authorization[\"']?\\s{0,8}+[:=]\\s{0,8}+[\"']?"
               "(?:basic|bearer|token|digest|negotiate)\\s{1,8}+"
               "(?![<${%]|\\[redacted:)[^\\s\"',;]{8,4096}+",
      .starts = ROWS("authorization"), .any_case = true },
};

const struct nacre_leak_pattern_row *nacre_leak_pattern(uint32_t index)
{
    return index < NACRE_LEAK_PATTERNS ? &leak_patterns[index].row : NULL;
}
