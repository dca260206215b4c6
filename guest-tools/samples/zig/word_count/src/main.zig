//! word_count: lines, words and characters of a text, and its most frequent words.
//! JSON on stdin, JSON on stdout: WASI and the standard library are all it needs.
const std = @import("std");
const wasi = std.os.wasi;

const input_max = 4 << 20;
const Count = struct { word: []const u8, count: usize };

fn readAll(allocator: std.mem.Allocator) ![]u8 {
    const bytes = try allocator.alloc(u8, input_max);
    var used: usize = 0;
    while (used < bytes.len) {
        var piece = [_]wasi.iovec_t{.{ .base = bytes.ptr + used, .len = bytes.len - used }};
        var count: usize = 0;
        if (wasi.fd_read(0, &piece, piece.len, &count) != .SUCCESS) return error.Input;
        if (count == 0) return bytes[0..used];
        used += count;
    }
    return error.TooLarge;
}

fn writeAll(bytes: []const u8) void {
    var rest = bytes;
    while (rest.len > 0) {
        var piece = [_]wasi.ciovec_t{.{ .base = rest.ptr, .len = rest.len }};
        var count: usize = 0;
        if (wasi.fd_write(1, &piece, piece.len, &count) != .SUCCESS) wasi.proc_exit(1);
        rest = rest[count..];
    }
}

fn isMore(_: void, one: Count, other: Count) bool {
    if (one.count != other.count) return one.count > other.count;
    return std.mem.lessThan(u8, one.word, other.word);
}

fn answer(allocator: std.mem.Allocator) ![]u8 {
    const Arguments = struct { text: []const u8, top: usize = 5 };
    const arguments = try std.json.parseFromSliceLeaky(Arguments, allocator, try readAll(allocator), .{});
    var counts: std.StringHashMapUnmanaged(usize) = .empty;
    var words: usize = 0;
    var each = std.mem.tokenizeAny(u8, arguments.text, " \t\r\n.,;:!?\"()");
    while (each.next()) |word| {
        const lower = try std.ascii.allocLowerString(allocator, word);
        const entry = try counts.getOrPutValue(allocator, lower, 0);
        entry.value_ptr.* += 1;
        words += 1;
    }
    var top: std.ArrayList(Count) = .empty;
    var entries = counts.iterator();
    while (entries.next()) |entry|
        try top.append(allocator, .{ .word = entry.key_ptr.*, .count = entry.value_ptr.* });
    std.mem.sort(Count, top.items, {}, isMore);
    const shown = top.items[0..@min(arguments.top, top.items.len)];
    const lines = std.mem.count(u8, arguments.text, "\n");
    const characters = try std.unicode.utf8CountCodepoints(arguments.text);
    const text = try std.fmt.allocPrint(allocator, "{d} lines, {d} words, {d} characters", .{ lines, words, characters });
    return std.json.Stringify.valueAlloc(allocator, .{
        .content = .{.{ .type = "text", .text = text }},
        .structuredContent = .{ .lines = lines, .words = words, .characters = characters, .top = shown },
        .isError = false,
    }, .{});
}

pub fn main() void {
    var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);
    const bytes = answer(arena.allocator()) catch
        "{\"content\":[{\"type\":\"text\",\"text\":\"the arguments can't be read, or are too large\"}],\"isError\":true}";
    writeAll(bytes);
}
