// unix_time: seconds since 1970 as a date. JSON on stdin, JSON on stdout: the calls of WASI
// that it needs are declared here.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: i32, pieces: usize, count: i32, done: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, pieces: usize, count: i32, done: usize): i32;

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(status: i32): void;

// What the language's own checks call when one fails.
export function abort(message: usize, file: usize, line: u32, column: u32): void {
  proc_exit(1);
}

const INPUT_MAX: i32 = 4096;

function readAll(): string {
  const bytes = new ArrayBuffer(INPUT_MAX);
  const piece = new StaticArray<usize>(3); // address, length; then how much was done
  const at = changetype<usize>(piece);
  let used = 0;
  while (used < INPUT_MAX) {
    piece[0] = changetype<usize>(bytes) + used;
    piece[1] = INPUT_MAX - used;
    if (fd_read(0, at, 1, at + 2 * sizeof<usize>()) != 0 || piece[2] == 0) break;
    used += <i32>piece[2];
  }
  return String.UTF8.decode(bytes.slice(0, used));
}

function writeAll(text: string): void {
  const bytes = String.UTF8.encode(text);
  const piece = new StaticArray<usize>(3);
  const at = changetype<usize>(piece);
  let done = 0;
  while (done < bytes.byteLength) {
    piece[0] = changetype<usize>(bytes) + done;
    piece[1] = bytes.byteLength - done;
    if (fd_write(1, at, 1, at + 2 * sizeof<usize>()) != 0) return;
    done += <i32>piece[2];
  }
}

function two(value: i64): string {
  return value.toString().padStart(2, "0");
}

// Days since 1970 as a date, for every day: Howard Hinnant's civil_from_days.
function date(days: i64): string {
  const shifted = days + 719468;
  const era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const day = shifted - era * 146097;
  const year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  const inYear = day - (365 * year + year / 4 - year / 100);
  const month = (5 * inYear + 2) / 153;
  const number = month < 10 ? month + 3 : month - 9;
  const full = year + era * 400 + (number <= 2 ? 1 : 0);
  return full.toString().padStart(4, "0") + "-" + two(number) + "-" + two(inYear - (153 * month + 2) / 5 + 1);
}

function format(seconds: i64): string {
  let days = seconds / 86400;
  let rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    days -= 1;
  }
  return date(days) + "T" + two(rest / 3600) + ":" + two((rest / 60) % 60) + ":" + two(rest % 60) + "Z";
}

// {"seconds": N}: the host has checked that it is a whole number in its range.
export function _start(): void {
  const input = readAll();
  const colon = input.indexOf(":");
  const text = format(I64.parseInt(input.substring(colon + 1).trim()));
  writeAll('{"content":[{"type":"text","text":"' + text + '"}],"structuredContent":{"utc":"' + text +
    '"},"isError":false}');
}
