//! Obstacles.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use surelift::robot::Scene;

use crate::arrays::{Written, numbers, text};
use crate::border::{Fault, SureliftStatus, border, input};
use crate::handles::{self, Kept, Table};

/// Obstacles that stand still, in the base frame. Where a function takes a scene, one with id 0 stands for a world without obstacles.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftScene {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What such a handle stands for.
pub(crate) struct SceneObject(Mutex<Scene>);

impl Kept for SceneObject {
    const KIND: u8 = 4;
    const NAME: &'static str = "scene";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<SceneObject> = Table::new();
        &TABLE
    }
}

/// The obstacles as they are now.
pub(crate) fn obstacles(scene: SureliftScene) -> Result<Scene, Fault> {
    if scene.id == 0 {
        return Ok(Scene::default());
    }
    let kind = handles::get::<SceneObject>(scene.id)?;
    let found = kind.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(found.clone())
}

/// A scene without obstacles. `*scene` is to be closed by surelift_scene_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_scene_new(scene: *mut SureliftScene) -> SureliftStatus {
    border(|| {
        let out = Written::one("scene", scene)?;
        let id = handles::open(SceneObject(Mutex::new(Scene::default())))?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[SureliftScene { id }]) };
        Ok(())
    })
}

/// Closes a scene. Plans that were proven in it keep their obstacles.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_scene_close(scene: SureliftScene) -> SureliftStatus {
    border(|| handles::close::<SceneObject>(scene.id))
}

/// Puts a box with sides along the axes of the base into a scene: its centre and its full side lengths (x, y, z; m). `name` stands in messages. Plans that exist know nothing of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_scene_add_box(
    scene: SureliftScene,
    name: *const c_char,
    center_m: *const f64,
    size_m: *const f64,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<SceneObject>(scene.id)?;
        // SAFETY: the caller's promise.
        let (name, center, size) = unsafe {
            (text("name", name)?, numbers("center_m", center_m, 3, 3)?, numbers("size_m", size_m, 3, 3)?)
        };
        if let Some(side) = size.iter().find(|side| !(**side > 0.0)) {
            return Err(input(format_args!("size_m of '{name}': {side}, expected sides above 0")));
        }
        let (center, size) = ([center[0], center[1], center[2]], [size[0], size[1], size[2]]);
        let mut held = kind.0.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.clone().with_box(name, center, size);
        Ok(())
    })
}
