"""Attached files of a PDF, and its XMP metadata."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from xml.sax.saxutils import escape

from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFStream, PDFString, PDFZCompress

from vbdesk.contract.timestamps import format_timestamp, in_zone
from vbdesk.report.safe_text import safe_text


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to the document.

    Attributes:
        relationship: what the file is to the document: the data it shows, or another form of the same.
    """

    name: str
    media_type: str
    description: str
    content: bytes
    relationship: Literal["Data", "Alternative", "Supplement"] = "Data"


def attach(document: Any, attachments: Sequence[Attachment], moment: datetime) -> None:
    """Embed files in a reportlab document, sorted by name."""
    if not attachments:
        return
    names, files = [], []
    for attachment in sorted(attachments, key=lambda one: one.name):
        file = document.Reference(_file(document, attachment, moment), f"file.{attachment.name}")
        names += [PDFString(attachment.name), file]
        files.append(file)
    document.Catalog.Names = PDFDictionary({"EmbeddedFiles": PDFDictionary({"Names": PDFArray(names)})})
    document.Catalog.AF = PDFArray(files)


def _file(document: Any, attachment: Attachment, moment: datetime) -> PDFDictionary:
    date = PDFString(f"D:{in_zone(moment, UTC):%Y%m%d%H%M%S}+00'00'")
    digest = hashlib.md5(attachment.content, usedforsecurity=False).hexdigest()  # the format asks for MD5
    stream = PDFStream(
        PDFDictionary(
            {
                "Type": PDFName("EmbeddedFile"),
                "Subtype": "/" + attachment.media_type.replace("+", "#2B").replace("/", "#2F"),
                "Params": PDFDictionary({"Size": len(attachment.content), "ModDate": date, "CheckSum": f"<{digest}>"}),
            }
        ),
        attachment.content,
        filters=[PDFZCompress],
    )
    embedded = document.Reference(stream, f"content.{attachment.name}")
    return PDFDictionary(
        {
            "Type": PDFName("Filespec"),
            "F": PDFString(attachment.name),
            "UF": PDFString(attachment.name),
            "Desc": PDFString(attachment.description),
            "AFRelationship": PDFName(attachment.relationship),
            "EF": PDFDictionary({"F": embedded, "UF": embedded}),
        }
    )


def xmp_stream(title: str, subject: str, producer: str, language: str, moment: datetime) -> PDFStream:
    """The document's metadata as XMP, uncompressed so that any program can find it."""
    when = format_timestamp(moment)
    packet = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:pdf="http://ns.adobe.com/pdf/1.3/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{_xml(title)}</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{_xml(subject)}</rdf:li></rdf:Alt></dc:description>
<dc:creator><rdf:Seq><rdf:li>{_xml(producer)}</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>{_xml(language)}</rdf:li></rdf:Bag></dc:language>
<xmp:CreateDate>{when}</xmp:CreateDate><xmp:ModifyDate>{when}</xmp:ModifyDate>
<xmp:CreatorTool>{_xml(producer)}</xmp:CreatorTool><pdf:Producer>{_xml(producer)}</pdf:Producer>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>"""
    content = packet.encode("utf-8")
    return PDFStream(PDFDictionary({"Type": PDFName("Metadata"), "Subtype": PDFName("XML")}), content, filters=[])


def _xml(words: str) -> str:
    return escape(safe_text(words))
