//! A layer between a program and the C library that writes down, in order, what the program does to the files
//! below a folder, and what of it is synced. Built by `tests/it/power.rs` and loaded with `LD_PRELOAD`.
//!
//! A record is a letter, the length of a path (u32), the path, a number (u64), the length of some bytes (u64)
//! and the bytes. `W`: the bytes are written at the number; `T`: the file is cut to the number; `S`: all of it is
//! synced; `R`: the file is renamed to what the bytes say; `U`: it is removed. Each is done and written down
//! under one lock, so that their order is that of the world.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, OnceLock};

const FOLDER: &str = "POWER_LAYER_FOLDER";
const JOURNAL: &str = "POWER_LAYER_JOURNAL";
/// The next definition of a symbol after ours: that of the C library.
const NEXT: *mut c_void = -1_isize as *mut c_void;
const SEEK_CUR: c_int = 1;
const WRITE_CREATE_APPEND: c_int = 0o1 | 0o100 | 0o2000;
/// "Function not implemented": whoever hears it reads and writes instead.
const ENOSYS: c_int = 38;

type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
type WriteAt = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
type OfFile = unsafe extern "C" fn(c_int) -> c_int;
type Truncate = unsafe extern "C" fn(c_int, i64) -> c_int;
type OfPath = unsafe extern "C" fn(*const c_char) -> c_int;
type Rename = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn readlink(path: *const c_char, into: *mut c_char, size: usize) -> isize;
    fn lseek(file: c_int, by: i64, from: c_int) -> i64;
    fn __errno_location() -> *mut c_int;
}

/// The function of the C library. `F` has to be its type.
unsafe fn real<F: Copy>(name: &CStr) -> F {
    let found = unsafe { dlsym(NEXT, name.as_ptr()) };
    assert!(!found.is_null());
    unsafe { std::mem::transmute_copy(&found) }
}

struct Journal {
    file: c_int,
    folder: Vec<u8>,
}

/// `None` where the layer is loaded by a program that it is not meant for.
fn journal() -> Option<&'static Journal> {
    static OPENED: OnceLock<Option<Journal>> = OnceLock::new();
    OPENED
        .get_or_init(|| {
            let folder = std::env::var_os(FOLDER)?;
            let path = CString::new(std::env::var_os(JOURNAL)?.as_bytes()).ok()?;
            let open: Open = unsafe { real(c"open") };
            let file = unsafe { open(path.as_ptr(), WRITE_CREATE_APPEND, 0o600) };
            let folder = [folder.as_bytes(), b"/"].concat();
            (file >= 0).then_some(Journal { file, folder })
        })
        .as_ref()
}

impl Journal {
    /// The path below the folder.
    fn inner<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        path.strip_prefix(self.folder.as_slice())
    }

    fn note(&self, what: u8, path: &[u8], number: i64, bytes: &[u8]) {
        let mut record = vec![what];
        record.extend((path.len() as u32).to_le_bytes());
        record.extend(path);
        record.extend(number.to_le_bytes());
        record.extend((bytes.len() as u64).to_le_bytes());
        record.extend(bytes);
        let write: Write = unsafe { real(c"write") };
        let written = unsafe { write(self.file, record.as_ptr().cast(), record.len()) };
        assert_eq!(written, record.len() as isize, "the journal takes no more");
    }
}

fn lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Where the journal is, and the path of the file below the folder, if it is there.
fn file_of(file: c_int) -> Option<(&'static Journal, Vec<u8>)> {
    let journal = journal()?;
    let name = CString::new(format!("/proc/self/fd/{file}")).ok()?;
    let mut path = vec![0_u8; 4096];
    let length = unsafe { readlink(name.as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    path.truncate(usize::try_from(length).ok()?);
    Some((journal, journal.inner(&path)?.to_vec()))
}

fn path_of(path: *const c_char) -> Option<(&'static Journal, Vec<u8>)> {
    let journal = journal()?;
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let path = std::path::absolute(OsStr::from_bytes(path)).ok()?;
    Some((
        journal,
        journal.inner(path.as_os_str().as_bytes())?.to_vec(),
    ))
}

/// Does `work`, and if it succeeds (no negative number) has it noted; both under the lock. Only does it where the
/// file is none of the folder's.
fn noted<T: Copy + Default + PartialOrd>(
    file: Option<(&'static Journal, Vec<u8>)>,
    work: impl FnOnce() -> T,
    note: impl FnOnce(&Journal, &[u8], T),
) -> T {
    let Some((journal, path)) = file else {
        return work();
    };
    let _lock = lock();
    let done = work();
    if done >= T::default() {
        note(journal, &path, done);
    }
    done
}

unsafe fn slice<'a>(bytes: *const c_void, length: isize) -> &'a [u8] {
    unsafe { std::slice::from_raw_parts(bytes.cast(), length as usize) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, size: usize) -> isize {
    let real: Write = unsafe { real(c"write") };
    let work = || unsafe { real(file, bytes, size) };
    noted(file_of(file), work, |journal, path, done| {
        let end = unsafe { lseek(file, 0, SEEK_CUR) };
        journal.note(b'W', path, end - done as i64, unsafe { slice(bytes, done) });
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    file: c_int,
    bytes: *const c_void,
    size: usize,
    at: i64,
) -> isize {
    let real: WriteAt = unsafe { real(c"pwrite64") };
    let work = || unsafe { real(file, bytes, size, at) };
    noted(file_of(file), work, |journal, path, done| {
        journal.note(b'W', path, at, unsafe { slice(bytes, done) });
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, size: usize, at: i64) -> isize {
    unsafe { pwrite64(file, bytes, size, at) }
}

unsafe fn sync(name: &CStr, file: c_int) -> c_int {
    let real: OfFile = unsafe { real(name) };
    let work = || unsafe { real(file) };
    noted(file_of(file), work, |journal, path, _| {
        journal.note(b'S', path, 0, &[])
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    unsafe { sync(c"fsync", file) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    unsafe { sync(c"fdatasync", file) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(file: c_int, length: i64) -> c_int {
    let real: Truncate = unsafe { real(c"ftruncate64") };
    let work = || unsafe { real(file, length) };
    noted(file_of(file), work, |journal, path, _| {
        journal.note(b'T', path, length, &[])
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate(file: c_int, length: i64) -> c_int {
    unsafe { ftruncate64(file, length) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let real: Rename = unsafe { real(c"rename") };
    let work = || unsafe { real(from, to) };
    noted(path_of(from), work, |journal, path, _| {
        // Out of the folder it is gone.
        match path_of(to) {
            Some((_, to)) => journal.note(b'R', path, 0, &to),
            None => journal.note(b'U', path, 0, &[]),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    let real: OfPath = unsafe { real(c"unlink") };
    let work = || unsafe { real(path) };
    noted(path_of(path), work, |journal, path, _| {
        journal.note(b'U', path, 0, &[])
    })
}

fn not_here() -> isize {
    unsafe { *__errno_location() = ENOSYS };
    -1
}

/// Would go past [`write`].
#[unsafe(no_mangle)]
pub extern "C" fn copy_file_range(
    _: c_int,
    _: *mut i64,
    _: c_int,
    _: *mut i64,
    _: usize,
    _: u32,
) -> isize {
    not_here()
}

/// Would go past [`write`].
#[unsafe(no_mangle)]
pub extern "C" fn sendfile64(_: c_int, _: c_int, _: *mut i64, _: usize) -> isize {
    not_here()
}
