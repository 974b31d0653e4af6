"""Files that travel with a conversation: handed in by people, or brought by scripts. Their bytes are in the artifact
store, under their digest."""

from pydantic import BaseModel, ConfigDict

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models of both providers take as an image."""

MAX_IMAGE_BYTES = 5_000_000
"""Of one image that a model is shown (Anthropic takes 5 MB)."""

MAX_INPUT_FILES = 64
MAX_INPUT_BYTES = 100 * 1024 * 1024
"""Most files, and bytes of all of them together, that a conversation is handed."""


class StoredFile(BaseModel):
    """`name`: a relative path with `/`, by which people, scripts and models know it; `digest`: SHA-256 of its bytes,
    in hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    digest: str
    bytes: int
    media_type: str

    @property
    def is_image(self) -> bool:
        """One that a model can be shown."""
        return self.media_type in IMAGE_TYPES and self.bytes <= MAX_IMAGE_BYTES
