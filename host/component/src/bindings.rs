//! What `wasmtime` makes of the WIT under `wit/`: the traits behind the host's interfaces, once, and one set
//! of calls for each world.

/// The interfaces of `chancery:host`.
mod lent {
    wasmtime::component::bindgen!({
        path: ["../../wit/types", "../../wit/host"],
        inline: "
            package chancery:hands;

            world lent {
                import chancery:host/log@0.1.0;
                import chancery:host/settings@0.1.0;
                import chancery:host/credentials@0.1.0;
                import chancery:host/deltas@0.1.0;
                import chancery:host/office@0.1.0;
            }
        ",
        imports: { "chancery:host/office": async | trappable },
        with: {
            "chancery:host/office.place": gate::office::Place,
            "chancery:host/office.seat": gate::office::Seat,
            "chancery:host/office.purse": gate::office::Purse,
            "chancery:host/office.agenda": gate::office::Agenda,
            "chancery:host/office.wishes": gate::office::Wishes,
        },
    });
}

pub(crate) use lent::chancery::host::{credentials, deltas, log, office, settings};
pub(crate) use lent::chancery::types::types;

/// The world of tools.
pub(crate) mod tool {
    wasmtime::component::bindgen!({
        path: ["../../wit/types", "../../wit/host", "../../wit/tool"],
        world: "chancery:tool/tool",
        exports: { default: async },
        with: {
            "chancery:types": crate::bindings::lent::chancery::types,
            "chancery:host": crate::bindings::lent::chancery::host,
        },
    });
}

/// What some tools export besides: reading back. Asked of a component that exports it, whatever else it does.
pub(crate) mod recall {
    wasmtime::component::bindgen!({
        path: ["../../wit/types", "../../wit/host", "../../wit/tool"],
        inline: "
            package chancery:back;

            world back {
                export chancery:tool/recalls@0.1.0;
            }
        ",
        exports: { default: async },
        with: {
            "chancery:types": crate::bindings::lent::chancery::types,
        },
    });
}

/// The world of guards: no imports, so nothing to share with the others.
pub(crate) mod guard {
    wasmtime::component::bindgen!({
        path: ["../../wit/guard"],
        world: "chancery:guard/guard",
        exports: { default: async },
    });
}

/// The world of models.
pub(crate) mod model {
    wasmtime::component::bindgen!({
        path: ["../../wit/types", "../../wit/host", "../../wit/model"],
        world: "chancery:model/model",
        exports: { default: async },
        with: {
            "chancery:types": crate::bindings::lent::chancery::types,
            "chancery:host": crate::bindings::lent::chancery::host,
        },
    });
}
