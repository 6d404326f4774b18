//! [`Wire`] over `wasi:http`, blocking: a guest has one thread and nothing else to do.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method as WasiMethod, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::{Ask, Flow, Flows, Method, Outgoing, Reply, Waits, Wire, failure_of};
use crate::Failure;

/// How much one `blocking-write-and-flush` takes, in bytes. The limit is that of `wasi:io`.
const WRITE_BYTES_MAX: usize = 4_096;
/// How much one read asks for, in bytes: few calls without a large buffer.
const READ_BYTES_MAX: usize = 64 * 1_024;

impl Wire for Outgoing {
    fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
        send(ask, None).and_then(|response| read(&response, ask.reply_bytes_max)).map_err(|code| {
            // The origin is the caller's own input, so it may stand in the sentence.
            failure_of(&code, &ask.address.origin())
        })
    }
}

impl Flows for Outgoing {
    fn open(&self, ask: &Ask, waits: Waits) -> Result<Box<dyn Flow>, Failure> {
        let origin = ask.address.origin();
        let opened = send(ask, Some(options(waits))).and_then(|response| {
            let headers = response.headers().entries();
            let unread = |()| unexpected("the response was read twice");
            let body = response.consume().map_err(unread)?;
            let stream = body.stream().map_err(unread)?;
            Ok(Coming { stream, _body: body, response, headers, origin: origin.clone() })
        });
        match opened {
            Ok(coming) => Ok(Box::new(coming)),
            Err(code) => Err(failure_of(&code, &origin)),
        }
    }
}

/// A response whose body is still to come. The stream is a child of the body, and goes first.
struct Coming {
    stream: InputStream,
    _body: IncomingBody,
    response: IncomingResponse,
    headers: Vec<(String, Vec<u8>)>,
    origin: String,
}

impl Flow for Coming {
    fn status(&self) -> u16 {
        self.response.status()
    }

    fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        // Ends because an answer of nothing is asked again only when there is more to come.
        loop {
            match self.stream.blocking_read(READ_BYTES_MAX as u64) {
                Ok(bytes) if bytes.is_empty() => continue,
                Ok(bytes) => return Ok(Some(bytes)),
                Err(StreamError::Closed) => return Ok(None),
                Err(StreamError::LastOperationFailed(e)) => {
                    return Err(failure_of(&code_of(&e), &self.origin));
                }
            }
        }
    }
}

/// How long the host should wait. It may wait less.
fn options(waits: Waits) -> RequestOptions {
    let nanoseconds = |ms: u64| Some(ms.saturating_mul(1_000_000));
    let options = RequestOptions::new();
    // A host that knows no such option waits as long as it does.
    let _ = options.set_first_byte_timeout(nanoseconds(waits.first_byte_ms));
    let _ = options.set_between_bytes_timeout(nanoseconds(waits.between_bytes_ms));
    options
}

fn send(ask: &Ask, options: Option<RequestOptions>) -> Result<IncomingResponse, ErrorCode> {
    let request = OutgoingRequest::new(headers_of(ask)?);
    let invalid = |()| ErrorCode::HttpRequestUriInvalid;
    let method = match ask.method {
        Method::Get => WasiMethod::Get,
        Method::Post => WasiMethod::Post,
    };
    let scheme = if ask.address.is_secure() { Scheme::Https } else { Scheme::Http };
    request.set_method(&method).map_err(|()| ErrorCode::HttpRequestMethodInvalid)?;
    request.set_scheme(Some(&scheme)).map_err(invalid)?;
    request.set_authority(Some(ask.address.authority())).map_err(invalid)?;
    request.set_path_with_query(Some(ask.address.path_and_query())).map_err(invalid)?;

    let body = request.body().map_err(|()| unexpected("the request has no body to write"))?;
    // The body is written after the request is handed over: until then nobody reads from it.
    let pending = handle(request, options)?;
    write(body, &ask.body)?;
    pending.subscribe().block();
    match pending.get() {
        Some(Ok(outcome)) => outcome,
        Some(Err(())) | None => Err(unexpected("the response was not there when it was ready")),
    }
}

fn headers_of(ask: &Ask) -> Result<Fields, ErrorCode> {
    let mut headers: Vec<(String, Vec<u8>)> =
        ask.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
    if !ask.body.is_empty() {
        headers.push(("content-length".to_owned(), ask.body.len().to_string().into_bytes()));
    }
    Fields::from_list(&headers).map_err(|e| unexpected(&format!("a header is not allowed: {e:?}")))
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), ErrorCode> {
    {
        let stream = body.write().map_err(|()| unexpected("the body is written twice"))?;
        for chunk in bytes.chunks(WRITE_BYTES_MAX) {
            match stream.blocking_write_and_flush(chunk) {
                Ok(()) => {}
                // The other side may answer before it has read everything; its answer says why.
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(e)) => return Err(code_of(&e)),
            }
        }
        // The stream is a child of the body and has to go first.
    }
    OutgoingBody::finish(body, None)
}

fn read(response: &IncomingResponse, bytes_max: usize) -> Result<Reply, ErrorCode> {
    let headers = response.headers().entries();
    let body: IncomingBody = response.consume().map_err(|()| unexpected("the response was read twice"))?;
    let stream = body.stream().map_err(|()| unexpected("the body was read twice"))?;
    let mut bytes = Vec::new();
    // One byte beyond the limit tells a body that was cut from one that fits exactly.
    while bytes.len() <= bytes_max {
        let wanted = (bytes_max + 1 - bytes.len()).min(READ_BYTES_MAX);
        match stream.blocking_read(wanted as u64) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(e)) => return Err(code_of(&e)),
        }
    }
    let cut = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    Ok(Reply { status: response.status(), headers, body: bytes, cut })
}

fn code_of(error: &wasip2::io::error::Error) -> ErrorCode {
    http_error_code(error).unwrap_or(ErrorCode::HttpResponseIncomplete)
}

fn unexpected(what: &str) -> ErrorCode {
    ErrorCode::InternalError(Some(what.to_owned()))
}
