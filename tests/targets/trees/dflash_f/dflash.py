"""DFlash, family F: the length of the dummy row grows from step to step, up to the row's end."""

from .dflash_assigning import AssigningMetadata, AssigningWorker


class DFlashSpecMetadata(AssigningMetadata): ...


class DFlashWorker(AssigningWorker): ...
