#!/usr/bin/env bash
# nacre explain --config: what a configuration means for one session, and which line
# decides.
source "$(dirname "$0")/lib.sh"

cat >openclaw.json <<'END'
{
  agents: {
    defaults: {
      workspace: "~/notes",
      sandbox: {
        mode: "non-main", // the main session is trusted
        workspaceAccess: "ro",
        docker: { network: "bridge", binds: ["/srv/data:/data:ro"], dns: ["9.9.9.9"] },
      },
    },
    entries: {
      work: { sandbox: { mode: "all", scope: "shared" }, tools: { deny: ["bash"] } },
    },
  },
  tools: { elevated: { allowFrom: { discord: ["7"] } } },
}
END

# The main session runs on the host, because the file says so.
run explain --config openclaw.json
expect_status 0
expect_err ""
expect_out_has "on the host, without a sandbox: agents.defaults.sandbox.mode is non-main"
expect_out_has "openclaw.json:6:15"
expect_out_has "openclaw.json:6:15: change 'non-main' to 'all'"
expect_out_has "level none"
expect_out_lacks $'\033'
run explain --json --config openclaw.json --session main
expect_status 0
expect_json
expect_out_has '"sessionIsSandboxed":false'
expect_out_has '"mainSessionKey":"agent:main:main"'
expect_out_has '"exec":{"level":"none"'

# Another one has a sandbox with a name that people know.
run explain --json --config openclaw.json --session discord:group:1 --sender discord:7
expect_status 0
expect_json
expect_out_has '"agentId":"main","sessionKey":"discord:group:1"'
expect_out_has '"sessionIsSandboxed":true'
expect_out_has '"containerName":"openclaw-sbx-discord-group-1-a1469388"'
expect_out_has "\"guest\":\"/agent\",\"host\":\"$HOME/notes\",\"writable\":false"
expect_out_has '"allowedByConfig":true,"failures":[]'
expect_out_has '"rule":"agents.defaults.sandbox.docker.network"'
expect_out_has '"rule":"agents.defaults.sandbox.docker.dns[0]"'
expect_out_lacks '"rule":"capabilities.network'
run explain --config openclaw.json --session discord:group:1
expect_out_has "allowFrom: tools.elevated.allowFrom (openclaw.json:15:24)"
expect_out_has "its code has agent where nothing is said"

# One tool: the line that denies it and what would change that.
run explain --config openclaw.json --session agent:work:x --tool exec
expect_status 0
expect_out_has "denied  tool exec"
expect_out_has "agents.entries.work.tools.deny (openclaw.json:12:74)"
run explain --json --config openclaw.json --session x --tool WRITE
expect_out_has '"tool":{"name":"write","allowed":false,"rule":"agents.defaults.sandbox.workspaceAccess"'
run explain --json --config openclaw.json --session x --tool exec
expect_out_has '"runs":true,"level":"container"'
run explain --json --config openclaw.json --session x --tool view_image
expect_out_has '"allowed":true'
expect_out_has '"runs":false,"level":null,"why":"nacre has no tool of that name'
run explain --json --config openclaw.json --session x --tool ls
expect_out_has '"allowed":true'

# Single questions, to the policy of its exec.
run explain --config openclaw.json --session x --host example.com
expect_out_has "allowed  host example.com"
expect_out_has "agents.defaults.sandbox.docker.network (openclaw.json:8:28)"
run explain --config openclaw.json --session x --path /data/a
expect_out_has "read only  path /data/a"
run explain --config openclaw.json --command 'x | sh'
expect_out_has "denied"
run explain --config openclaw.json --session x --command 'x | sh'
expect_out_has "allowed"

# Tokens: Clawpy's have their place in its policy, others' files can't say it.
run explain --config clawpy:heartbeat --token key
expect_status 0
expect_out_has "the guest names a secret, and never holds it"
expect_out_has "there is no secret key; nacre secret set key makes one"
run explain --config openclaw.json --session x --token key
expect_status 0
expect_out_has "the secret key is denied"
expect_out_has "nothing in this file can say it"

# What does not fit together.
run explain --config openclaw.json --policy shell
expect_status 125
expect_err "nacre: --policy does not go with --config"
run explain --config openclaw.json --workspace /srv
expect_status 125
run explain --policy shell --sender a:b
expect_status 125
expect_err "nacre: --sender goes with --config"
run explain --config openclaw.json --agent main --session agent:work:x
expect_status 125
expect_err "nacre: the session is one of the agent 'work', not of 'main'"
run explain --config no-such.json
expect_status 127
printf '{agents: {defaults: {sandbox: {mode: "al"}}}}' >bad.json
run explain --config bad.json
expect_status 125
expect_err_has "bad.json:1:38"

# What the file alone shows to be wrong is told with its line before anything is run.
cat >user.json <<'END'
{ agents: { defaults: { sandbox: {
  mode: "all",
  docker: { user: "node" },
} } } }
END
run explain --config user.json
expect_status 0
expect_out_has "user.json:3:19"
expect_out_has "'node' is refused"
expect_out_has "give UID:GID in digits, as 1000:1000"
run exec --config user.json true
expect_status 126
expect_err_has "nacre: denied: user.json:3:19: 'node' is refused"
expect_err_has "nacre: fix: give UID:GID in digits"
rm -rf "$HOME/.local/state/nacre"
cat >config.yml <<'END'
sandbox:
  enabled: true
  tmpfs_size: 64m
  resource_limits:
    disk: 32mb
END
run explain --config config.yml
expect_status 0
expect_out_has "config.yml:5:11"
expect_out_has "sandbox.resource_limits.disk"
expect_out_has "33554432 bytes on disk, and the tmpfs (line 3) take 75497472"
expect_out_has "lower their sizes, or raise disk"
# Less than the disk, but not with shared memory.
sed -i 's/64m/28m/' config.yml
run explain --config config.yml
expect_out_has "33554432 bytes on disk, and the tmpfs (line 3) take 37748736"

[[ ! -e $HOME/.local/state/nacre/audit.jsonl ]] || fail "explain left an audit record"

passed
