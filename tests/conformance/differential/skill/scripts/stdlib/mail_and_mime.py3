import mimetypes
from email.message import EmailMessage
from email.utils import parseaddr
message = EmailMessage()
message["Subject"], message["To"] = "Grüße", "Ä <a@example.org>"
message.set_content("text ☃")
message.add_attachment(b"\0", maintype="application", subtype="octet-stream", filename="x.bin")
message.set_boundary("=== fixed ===")
print(message.as_string(), parseaddr("A B <a@b>"), mimetypes.guess_type("a.csv"))
