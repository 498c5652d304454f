//! The end of a console: its window is closed, or its user logs off.

use core::future::poll_fn;
use core::task::{Context, Poll};
use std::io;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::windows::{CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_close, ctrl_logoff, ctrl_shutdown};

/// Calls `raise` when the console ends. The process then has some five seconds to end by itself.
///
/// - Source: Microsoft, "HandlerRoutine callback function". The handler of `ctrlc` returns, and the system ends the process
///   at that moment. tokio's does not return.
/// - Errors: what the system says.
pub(crate) fn on_end(raise: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let runtime = Builder::new_current_thread().build()?;
    let mut end = End::new(&runtime)?;
    thread::Builder::new().name(String::from("console")).spawn(move || {
        runtime.block_on(poll_fn(|context| end.poll(context)));
        raise();
    })?;
    Ok(())
}

struct End {
    window: CtrlClose,
    session: CtrlLogoff,
    system: CtrlShutdown,
}

impl End {
    fn new(runtime: &Runtime) -> io::Result<Self> {
        let _inside = runtime.enter();
        Ok(Self { window: ctrl_close()?, session: ctrl_logoff()?, system: ctrl_shutdown()? })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let ended = self.window.poll_recv(context).is_ready()
            || self.session.poll_recv(context).is_ready()
            || self.system.poll_recv(context).is_ready();
        if ended { Poll::Ready(()) } else { Poll::Pending }
    }
}
