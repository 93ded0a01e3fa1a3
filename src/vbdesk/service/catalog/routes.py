"""Models and signs over HTTP."""

from fastapi import APIRouter

from vbdesk.contract import catalog
from vbdesk.contract.catalog import Model, ModelList, SignDetail, SignList, SignName
from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import Bucket
from vbdesk.service.catalog.service import known_model, known_sign
from vbdesk.service.http.guard import CurrentContext, guard
from vbdesk.service.http.openapi_parts import refusals

GENERAL = guard(Bucket.GENERAL)
router = APIRouter()


@router.get("/v2/models", dependencies=GENERAL)
def list_models() -> ModelList:
    """Every model with its signs."""
    return catalog.models()


@router.get("/v2/models/{model_name}", responses=refusals(ErrorCode.NOT_FOUND), dependencies=GENERAL)
def read_model(model_name: str) -> Model:
    """One model; 404 if unknown."""
    return catalog.model(known_model(model_name))


@router.get("/v2/signs", dependencies=GENERAL)
def list_signs(context: CurrentContext) -> SignList:
    """The signs that may be requested without a model."""
    return catalog.signs(context.plugin_signs)


@router.get("/v2/signs/{sign_name}", responses=refusals(ErrorCode.NOT_FOUND), dependencies=GENERAL)
def read_sign(sign_name: str, context: CurrentContext) -> SignDetail:
    """One sign with its condition id; 404 if unknown or internal to models."""
    name = known_sign(sign_name, context.plugin_signs)
    return catalog.plugin_sign(name) if name in context.plugin_signs else catalog.sign_detail(SignName(name))
