//! Hearing of other hosts' commits: `listen`, on a connection of its own.
//!
//! A notice is sent with the commit and carries where the record then ends. It is only a hint: one that is lost,
//! with its connection or before there was one, costs a second.

use super::{CONNECT_MS_MAX, POLL_MS};
use event::GlobalPosition;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use std::time::Duration;

/// The channel of the record whose table of events has this number.
pub(super) fn channel(table: i32) -> String {
    format!("chancery_{}", table.cast_unsigned())
}

/// What listens.
pub(super) struct Ears {
    pool: PgPool,
    channel: String,
    listener: Option<PgListener>,
}

impl Ears {
    pub(super) fn new(options: PgConnectOptions, table: i32) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_millis(CONNECT_MS_MAX))
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options);
        Self { pool, channel: channel(table), listener: None }
    }

    /// The next notice; nothing when a while has passed without one.
    pub(super) async fn hear(&mut self) -> Option<GlobalPosition> {
        let pause = Duration::from_millis(POLL_MS);
        let mut listener = match self.listener.take() {
            Some(listener) => listener,
            None => match self.listen().await {
                // Commits before this moment were not heard of: the caller has to look.
                Ok(listener) => {
                    self.listener = Some(listener);
                    return None;
                }
                Err(error) => {
                    tracing::debug!(?error, "the server is not listened to");
                    tokio::time::sleep(pause).await;
                    return None;
                }
            },
        };
        match tokio::time::timeout(pause, listener.try_recv()).await {
            Ok(Ok(Some(notice))) => {
                self.listener = Some(listener);
                notice.payload().parse().ok().map(GlobalPosition)
            }
            // The connection is gone: the next call makes another.
            Ok(Ok(None) | Err(_)) => None,
            Err(_) => {
                self.listener = Some(listener);
                None
            }
        }
    }

    async fn listen(&self) -> Result<PgListener, sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        Ok(listener)
    }
}
