//! sum NUMBERS RESULT: adds the numbers of one file, one a line, into another.
//! What a tool in this language does without thinking: an allocator that grows the
//! memory, a sleep, the environment, files relative to the first mount (its only working
//! directory), an error returned from main on bad input.

const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const arena = init.arena.allocator();
    var buffer: [256]u8 = undefined;
    var stdout = std.Io.File.stdout().writer(io, &buffer);
    const out = &stdout.interface;
    try out.print("hello from zig, {s}\n", .{init.environ_map.get("WHO") orelse ""});
    try out.flush();

    const args = try init.minimal.args.toSlice(arena);
    const cwd = std.Io.Dir.cwd();
    const text = cwd.readFileAlloc(io, args[1], arena, .limited(1 << 20)) catch |err| {
        std.debug.print("{s}: {s}\n", .{ args[1], @errorName(err) });
        std.process.exit(3);
    };
    var sum: i64 = 0;
    var lines = std.mem.tokenizeScalar(u8, text, '\n');
    while (lines.next()) |line| sum += try std.fmt.parseInt(i64, line, 10);

    const before = std.Io.Clock.awake.now(io);
    try io.sleep(.fromMilliseconds(20), .awake);
    std.debug.assert(before.untilNow(io, .awake).toMilliseconds() >= 20);

    const result = try std.fmt.allocPrint(arena, "{d}\n", .{sum});
    cwd.writeFile(io, .{ .sub_path = args[2], .data = result }) catch |err| {
        std.debug.print("{s}: {s}\n", .{ args[2], @errorName(err) });
        std.process.exit(4);
    };
    try out.print("sum {d}\n", .{sum});
    try out.flush();
}
