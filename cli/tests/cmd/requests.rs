//! Asks a program to end, as a person or the system does.

#[cfg(unix)]
pub(crate) use unix::{ask, with_console};
#[cfg(windows)]
pub(crate) use windows::{ask, with_console};

/// Who asks.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, as `timeout` and service managers send it; Ctrl-Break on Windows.
    End,
    /// The window of its terminal is closed.
    Close,
}

#[cfg(unix)]
mod unix {
    use std::process::{Child, Command};

    use rustix::process::{Pid, Signal, kill_process};

    use super::Request;

    /// Nothing: signals reach one process alone.
    pub(crate) fn with_console(_: &mut Command) {}

    /// Asks a running program to end.
    pub(crate) fn ask(process: &Child, request: Request) {
        let signal = match request {
            Request::Interrupt => Signal::INT,
            Request::End => Signal::TERM,
            Request::Close => Signal::HUP,
        };
        kill_process(Pid::from_child(process), signal).expect("a signal");
    }
}

#[cfg(windows)]
mod windows {
    use core::ffi::{c_char, c_void};
    use core::ptr;
    use std::env;
    use std::os::windows::io::AsRawHandle as _;
    use std::os::windows::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::Request;

    /// Gives a program a console of its own: what is pressed there reaches no other program.
    pub(crate) fn with_console(command: &mut Command) {
        command.creation_flags(CREATE_NO_WINDOW);
    }

    /// Presses keys in the console of a running program, or closes its window.
    pub(crate) fn ask(process: &Child, request: Request) {
        match request {
            Request::Interrupt => press(process, CTRL_C_EVENT),
            Request::End => press(process, CTRL_BREAK_EVENT),
            Request::Close => close(process),
        }
    }

    /// Does what the system does with each program of a console whose window is closed: a thread in the program calls its
    /// handlers. A console without a window has none to close, and Wine 8 ends programs without a word.
    fn close(process: &Child) {
        // SAFETY: the name ends with a zero, and the library is in every process.
        let library = unsafe { GetModuleHandleA(c"kernelbase".as_ptr()) };
        // SAFETY: the library stays, and the name ends with a zero.
        let routine = unsafe { GetProcAddress(library, c"CtrlRoutine".as_ptr()) };
        let routine = routine.expect("a routine of the system");
        let event = ptr::without_provenance_mut(CTRL_CLOSE_EVENT);
        // SAFETY: the process lives, and the system's libraries lie at the same place in each. The routine takes a number.
        let thread = unsafe {
            CreateRemoteThread(process.as_raw_handle(), ptr::null(), 0, routine, event, 0, ptr::null_mut())
        };
        assert!(!thread.is_null(), "{}", std::io::Error::last_os_error());
    }

    /// A process has one console, and this one must not lose its own. So another process does it.
    fn press(process: &Child, event: u32) {
        let mut other = Command::new(env::current_exe().expect("this program"));
        other.args(["--ignored", "--exact", "requests::windows::keys_are_pressed_in_another_console"]);
        other.env(PROCESS, process.id().to_string()).env(EVENT, event.to_string());
        let output = other.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "a part of other tests, which name the process and the keys"]
    fn keys_are_pressed_in_another_console() {
        let number =
            |name| -> u32 { env::var(name).expect("other tests start this").parse().expect("a number") };
        let (process, event) = (number(PROCESS), number(EVENT));
        // SAFETY: it takes nothing. A process without a console has none to leave.
        unsafe { FreeConsole() };
        // SAFETY: any number may be asked for.
        let attached = unsafe { AttachConsole(process) };
        assert_ne!(attached, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the handler lives as long as the process. This one has the console too, and must outlive the keys.
        unsafe { SetConsoleCtrlHandler(stay, 1) };
        // SAFETY: the group 0 is all that have this console.
        let pressed = unsafe { GenerateConsoleCtrlEvent(event, 0) };
        assert_ne!(pressed, 0, "{}", std::io::Error::last_os_error());
    }

    extern "system" fn stay(_: u32) -> i32 {
        1
    }

    type Routine = unsafe extern "system" fn(*mut c_void) -> u32;

    // Source: Microsoft, "Console Functions", "CreateRemoteThread function".
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn AttachConsole(process: u32) -> i32;
        fn CreateRemoteThread(
            process: *mut c_void,
            attributes: *const c_void,
            stack: usize,
            routine: Routine,
            argument: *mut c_void,
            flags: u32,
            id: *mut u32,
        ) -> *mut c_void;
        fn FreeConsole() -> i32;
        fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
        fn GetModuleHandleA(name: *const c_char) -> *mut c_void;
        fn GetProcAddress(library: *mut c_void, name: *const c_char) -> Option<Routine>;
        fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    }

    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    const CTRL_C_EVENT: u32 = 0;
    const CTRL_BREAK_EVENT: u32 = 1;
    const CTRL_CLOSE_EVENT: usize = 2;
    /// The variables for the other process.
    const PROCESS: &str = "SCHWANN_TEST_PROCESS";
    const EVENT: &str = "SCHWANN_TEST_EVENT";
}
